/** Key of the counter of fencing tokens of the present call. Its name ends with the length of the locks' prefix. */
export let counterKey = '';

export function setCounterKey(key: string): void {
  counterKey = key;
}
