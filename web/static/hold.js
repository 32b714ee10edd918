// hold.js - whether somebody reads a part of the page: the pointer moved over it a moment ago, the
// keyboard's focus or a selection is in it, or it is scrolled away from its top. What is read is
// not moved; it is moved when it is left.

const IDLE_MS = 30000, LOOK_MS = 500;

export function makeHold(box, {scroller = null, isHeld = () => false, onFree}) {
  let movedAt = -Infinity, isWaiting = false;
  const moved = () => {
    movedAt = performance.now();
  }, left = () => {
    movedAt = -Infinity;
  };
  box.addEventListener('pointermove', moved, { passive: true });
  box.addEventListener('pointerdown', moved, { passive: true });
  box.addEventListener('pointerleave', left, { passive: true });

  function isSelected() {
    const s = getSelection();
    return s !== null && !s.isCollapsed && s.rangeCount > 0 &&
        box.contains(s.getRangeAt(0).commonAncestorContainer);
  }

  function isRead() {
    return performance.now() - movedAt < IDLE_MS ||
        (box.contains(document.activeElement) &&
         document.activeElement.matches(':focus-visible')) ||
        isSelected() || (scroller !== null && scroller.scrollTop > 4) || isHeld();
  }

  const look = setInterval(() => {
    if (!isWaiting || isRead()) return;
    isWaiting = false;
    onFree();
  }, LOOK_MS);

  return {
    isRead,
    /** Something waits to be moved. */
    wait: () => {
      isWaiting = true;
    },
    stop: () => clearInterval(look),
  };
}

/** "12 new results": what waits, and the way to see it now. */
export function waitingText(n, one, many) {
  return n ? `${n.toLocaleString('en-US')} new ${n === 1 ? one : many}` : '';
}
