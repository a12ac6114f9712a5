/** Settings of the rules: for one primary, for Redis Cluster, and for a large Cluster. */
export const SETTINGS: { readonly onePrimary: string; readonly cluster: string; readonly largeCluster: string };

/** Compiles a rule of `store/protocol`, and all that it uses, into one Lua script. */
export function compileRules(entry: string, settings?: string, folder?: string): string;
