// Light or dark: what the system says, unless the person chose.

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'roost.theme';

class Themes {
  chosen = $state<Theme>(stored());
  private readonly system = matchMedia('(prefers-color-scheme: dark)');

  constructor() {
    this.system.addEventListener('change', () => this.apply());
    this.apply();
  }

  choose(theme: Theme): void {
    this.chosen = theme;
    if (theme === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
    this.apply();
  }

  /** The next of the three. */
  turn(): void {
    this.choose(this.chosen === 'system' ? 'light' : this.chosen === 'light' ? 'dark' : 'system');
  }

  private apply(): void {
    const isDark = this.chosen === 'dark' || (this.chosen === 'system' && this.system.matches);
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
  }
}

function stored(): Theme {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

export const themes = new Themes();
