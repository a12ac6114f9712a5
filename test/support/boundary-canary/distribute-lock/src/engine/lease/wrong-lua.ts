export { script } from '../../store/generated/lua-scripts.js';
