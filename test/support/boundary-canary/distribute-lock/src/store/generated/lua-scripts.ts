export const script = 'for the store only';
