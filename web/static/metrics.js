// metrics.js - the names of metrics, the direction in which each is better, and the metric of a
// trial's curve. The engine chooses the best round or epoch by the study's metric if that metric is
// smooth, and by a related smooth metric otherwise (is_smooth in ml/metric/metric.h). The curve
// shows the metric that was used for this choice. All functions are pure.

const METRICS = {
  auc: ['AUC', true, 'auc'],
  average_precision: ['Average precision', true, 'average_precision'],
  logloss: ['Log loss', false, 'logloss'],
  balanced_logloss: ['Balanced log loss', false, 'balanced_logloss'],
  brier: ['Brier score', false, 'brier'],
  accuracy: ['Accuracy', true, 'logloss'],
  balanced_accuracy: ['Balanced accuracy', true, 'logloss'],
  f1: ['F1', true, 'logloss'],
  mcc: ['MCC', true, 'logloss'],
  quadratic_kappa: ['Quadratic kappa', true, 'logloss'],
  rmse: ['RMSE', false, 'rmse'],
  mae: ['MAE', false, 'mae'],
  r2: ['R²', true, 'rmse'],
  mape: ['MAPE', false, 'mape'],
  rmsle: ['RMSLE', false, 'rmsle'],
  tweedie_deviance: ['Tweedie deviance', false, 'tweedie_deviance'],
  poisson_deviance: ['Poisson deviance', false, 'poisson_deviance'],
};

/**
 * Returns the name of a metric, such as "Balanced accuracy" for balanced_accuracy. An unknown name
 * is only freed of underscores.
 */
export function metricName(metric) {
  return METRICS[metric]?.[0] || (metric ? metric.replaceAll('_', ' ') : 'Score');
}

/**
 * Returns the metric of a trial's curve and its direction. `metric` and `isLower` are the study's,
 * and `select` is the value of the curve that the engine chose. For a study with AUC the engine
 * uses log loss if a fold lacks a class. Whether it did follows from the curve: AUC is never above
 * 1, and `select` is near the smallest value of a log loss, but near the largest value of an AUC.
 */
export function curveMetric(metric, isLower, points, select) {
  const own = METRICS[metric];
  let name = own ? own[2] : metric,
      lower = own && own[2] !== metric ? !METRICS[own[2]][1] : Boolean(isLower);
  if (metric === 'auc' && points.length && Number.isFinite(select)) {
    const ys = points.map((p) => p.y), lo = Math.min(...ys), hi = Math.max(...ys);
    if (hi > 1 || Math.abs(select - lo) < Math.abs(select - hi)) name = 'logloss', lower = true;
  }
  return { name: metricName(name), isLower: lower };
}
