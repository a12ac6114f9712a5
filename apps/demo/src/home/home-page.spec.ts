import { homePage } from './home-page.js';

describe('homePage', () => {
  it('escapes names', () => {
    const page = homePage('"><script>alert(1)</script>');

    expect(page).not.toContain('<script>alert');
    expect(page).toContain('&#60;script&#62;');
  });
});
