export { store } from '../store/store.js';
