/** Checks that a section with a measured figure names the command that measures it, or links to a section with one. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { linksOf, sectionsOf, withoutCode } from './markdown.mjs';

const NUMBER = String.raw`(?<![\w.:/-])\d[\d.,]* ?`;
/** Units that constants of the code do not have. */
const MEASURED = String.raw`${NUMBER}(?:(?:µs|us|bytes|[kKM]B|instructions)(?!\w)|% of a core)`;
/** Units of constants, too, such as time limits. */
const OTHERS = String.raw`${NUMBER}(?:(?:ms|s|times|commands|messages|round trips|[\w-]+ per second)(?!\w)|%)`;
/** In the benchmarks, the columns of a table have units. */
const ROW = String.raw`^\|.*\d`;

const INTERNALS = /^docs\/(?:decisions|internals)\//;
/** Sections that state constants of the code. */
const CONSTANTS = /^docs\/(?:decisions\/.*#decision|internals\/protocol\.md#.*)$/;

const COMMAND = /(?:^|`)(?:npm run|npm test|npx)\b/m;
/** What a section says about a figure that remains only as the reason of a decision. */
const HISTORIC = 'no command repeats';

/** The messages for the figures without a command in the document `name` below `root`. Ratios without a unit are not found. */
export function figureFaults(root, name, text) {
  return sectionsOf(text).flatMap((section) => {
    const figure = figureIn(name, section);
    if (figure === undefined || hasCommand(section) || targetsOf(section).some(leadsToCommand)) return [];
    return [`${name}:${section.line}: "${figure}" in this section has no command that measures it`];
  });

  function leadsToCommand(target) {
    const [path, anchor] = decodeURI(target).split('#');
    const file = join(root, dirname(name), path);
    if (path !== '' && !(path.endsWith('.md') && existsSync(file))) return false;
    const sections = sectionsOf(path === '' ? text : readFileSync(file, 'utf8'));
    return sections.some((section) => (anchor === undefined || section.anchor === anchor) && hasCommand(section));
  }
}

function figureIn(name, { anchor, text }) {
  const prose = withoutCode(text).replace(/^#.*/gm, '');
  return new RegExp(unitsOf(name, anchor).join('|'), 'm').exec(prose)?.[0];
}

function unitsOf(name, anchor) {
  if (name === 'docs/benchmarks.md') return [ROW];
  return INTERNALS.test(name) && !CONSTANTS.test(`${name}#${anchor}`) ? [MEASURED, OTHERS] : [MEASURED];
}

const hasCommand = ({ text }) => COMMAND.test(text) || text.includes(HISTORIC);
const targetsOf = ({ text }) => linksOf(text).map(({ target }) => target);
