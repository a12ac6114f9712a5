import { readFileSync } from 'node:fs';

/** A file that the page consists of. */
export const asset = (name: string): string => readFileSync(new URL(`assets/${name}`, import.meta.url), 'utf8');

/** The first page: the locks at work, with controls that send requests. */
export const homePage = (instance: string): string => asset('index.html').replaceAll('INSTANCE', escaped(instance));

function escaped(text: string): string {
  return text.replace(/[&<>"'$]/g, (character) => `&#${character.charCodeAt(0)};`);
}
