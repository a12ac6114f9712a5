/** Takes the names of the packages that were loaded since the last call. */
export function noteLoads(ofInterest: RegExp): () => Promise<string[]>;
