export const terminus = 'an optional entry';
