import { homePage } from './home-page.js';

describe('homePage', () => {
  it('shows a name as text, whatever it is', () => {
    const page = homePage('<script>alert(1)</script>');

    expect(page).not.toContain('<script>');
    expect(page).toContain('&#60;script&#62;');
  });
});
