import { homePage } from './home-page.js';

describe('homePage', () => {
  it('shows names as text, whatever they are', () => {
    const page = homePage('<script>alert(1)</script>', '"><script>');

    expect(page).not.toContain('<script>');
    expect(page).toContain('&#60;script&#62;');
  });
});
