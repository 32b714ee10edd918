// hold.js - tells whether somebody reads a part of the page. This is assumed while the pointer
// moved over it in the last 30 seconds, while it holds the keyboard's focus or a selection, and
// while it is scrolled away from its top. Rows must not move while they are read; they are moved
// afterwards.

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
    /** Rows are waiting to be moved: onFree is called when nobody reads any more. */
    wait: () => {
      isWaiting = true;
    },
    stop: () => clearInterval(look),
  };
}

/** The text of the button that shows what waits, such as "12 new results". */
export function waitingText(n, one, many) {
  return n ? `${n.toLocaleString('en-US')} new ${n === 1 ? one : many}` : '';
}
