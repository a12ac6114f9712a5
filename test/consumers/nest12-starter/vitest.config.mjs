import { defineConfig } from 'vitest/config';

/** Like the file from `nest new`. */
export default defineConfig({
  test: { globals: true, root: './', include: ['**/*.spec.ts'], exclude: ['**/node_modules/**', '**/dist/**'] },
});
