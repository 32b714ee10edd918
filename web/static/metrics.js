// metrics.js - metrics as people call them, which way each is better, and what the points of a
// trial's curve are in. The engine chooses along rounds or epochs by the study's metric where that
// one is smooth, and by another one where it is not (ml/metric.h, is_smooth): the curve is in that
// one. Pure.

const METRICS = {
  auc: ['AUC', true, 'auc'],
  logloss: ['Log loss', false, 'logloss'],
  accuracy: ['Accuracy', true, 'logloss'],
  balanced_accuracy: ['Balanced accuracy', true, 'logloss'],
  f1: ['F1', true, 'logloss'],
  rmse: ['RMSE', false, 'rmse'],
  mae: ['MAE', false, 'mae'],
  r2: ['R²', true, 'rmse'],
  poisson_deviance: ['Poisson deviance', false, 'poisson_deviance'],
};

/** "Balanced accuracy" of balanced_accuracy; what is not known stays as it is. */
export function metricName(metric) {
  return METRICS[metric]?.[0] || (metric ? metric.replaceAll('_', ' ') : 'Score');
}

/**
 * The metric of the curve and which way it is better. `metric` and `isLower` are the study's;
 * `select` is the value that the engine chose along the curve: with AUC it tells whether a fold
 * lacked a class, where log loss stands in.
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
