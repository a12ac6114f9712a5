import { readFileSync } from 'node:fs';

/** The text of a generated file with line feeds only; `undefined` if it does not exist. */
export function currentText(file) {
  try {
    return readFileSync(file, 'utf8').replace(/\r\n/g, '\n');
  } catch {
    return undefined;
  }
}
