export const store = 'a row above the ground';
