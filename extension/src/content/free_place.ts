/** Finds a place near a link where a mark covers neither text nor pictures. */

import { elementAt, textAt } from "./dom";

/** Height and width of a mark, in pixels. */
export const MARK_SIZE = 16;
const GAP = 2;
const STEP = 8;
/** What is seen although it is no text. */
const SEEN = "img, picture, svg, canvas, video, audio, iframe, embed, object, input, button, select, textarea, meter";

interface Place {
  left: number;
  top: number;
}

/**
 * The place on the link's line that is nearest to the link: right of it, else left of it. A line that is full from edge
 * to edge leaves the corner of the window where browsers themselves write where a link leads.
 */
export function freePlace(link: Element): Place {
  // A link that is broken goes on at the end of its last line.
  const boxes = link.getClientRects();
  const [first, last] = [boxes[0], boxes[boxes.length - 1]];
  if (first === undefined || last === undefined) return corner();
  const right = { left: last.right + GAP, top: middle(last) };
  const left = { left: first.left - GAP - MARK_SIZE, top: middle(first) };
  for (let moved = 0; moved < innerWidth; moved += STEP) {
    const places = [
      { ...right, left: right.left + moved },
      { ...left, left: left.left - moved },
    ];
    for (const place of places) if (isInside(place) && isFree(place)) return place;
  }
  return corner();
}

function middle({ top, bottom }: DOMRect): number {
  return (top + bottom - MARK_SIZE) / 2;
}

function corner(): Place {
  return { left: 0, top: innerHeight - MARK_SIZE };
}

function isInside({ left, top }: Place): boolean {
  return left >= 0 && top >= 0 && left + MARK_SIZE <= innerWidth && top + MARK_SIZE <= innerHeight;
}

/** Looks at the middle and the corners: words and pictures are larger than what lies between them. */
function isFree({ left, top }: Place): boolean {
  const [right, bottom] = [left + MARK_SIZE, top + MARK_SIZE];
  const box = { left, top, right, bottom };
  const points = [
    [(left + right) / 2, (top + bottom) / 2],
    [left, top],
    [right - 1, top],
    [left, bottom - 1],
    [right - 1, bottom - 1],
  ] as const;
  return points.every(([x, y]) => {
    const element = elementAt(x, y);
    if (element?.matches(SEEN) === true) return false;
    return textAt(x, y).every(
      (text) => text.right <= box.left || text.left >= box.right || text.bottom <= box.top || text.top >= box.bottom,
    );
  });
}
