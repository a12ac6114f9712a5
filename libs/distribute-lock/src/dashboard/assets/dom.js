const SVG = 'http://www.w3.org/2000/svg';

/** Creates an element. Texts become text nodes, so markup in a name stays text. */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

/** Changes a text only if it differs, so that screen readers and selections stay calm. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** `850 ms`, `2.4 s`, `12 s`, `3 min`, `2 h`. */
export function duration(ms) {
  if (ms < 950) return `${Math.max(0, Math.round(ms / 10) * 10)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 119_500) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_170_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}

export const count = (number) => number.toLocaleString('en');

/** The text for a holder that reports to no page; '' without one. */
export const heldElsewhere = (elsewhere) =>
  isDetached(elsewhere)
    ? `detached${elsewhere[2] > 1 ? ` × ${elsewhere[2]}` : ''}`
    : elsewhere
      ? `held elsewhere${elsewhere[0] === '' ? '' : ` (${elsewhere[0]})`}`
      : '';

/** Whether a ticket continues a lease of the lock. */
export const isDetached = (elsewhere) => elsewhere?.[2] > 0;
