/** A page of the guide has at most four screens, because a reader leaves a longer one. */

/** The lines of four screens, each of 60 lines with 120 characters. */
const MOST_LINES = 240;
const LINE = 120;
const GUIDE = /^docs\/guide\/[^/]+\.md$/;

/** The lines that the page takes on a screen. Comments and the targets of links are not shown. */
export function shownLines(text) {
  const shown = text.replace(/<!--[\s\S]*?-->\n/g, '').replace(/\]\([^)]*\)/g, ']');
  return shown
    .trimEnd()
    .split('\n')
    .reduce((lines, line) => lines + Math.max(1, Math.ceil(line.length / LINE)), 0);
}

/** The message for a page of the guide that is too long. */
export function screenFaults(name, text) {
  const lines = GUIDE.test(name) ? shownLines(text) : 0;
  return lines > MOST_LINES
    ? [`${name}: takes ${lines} lines on a screen, but a page of the guide has at most ${MOST_LINES}`]
    : [];
}
