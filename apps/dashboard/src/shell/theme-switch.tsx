import { useState } from 'react';
import { IconButton } from '../ui/button.js';
import { chooseTheme, chosenTheme, THEMES, type Theme } from '../theme/theme.js';

const LABELS: Readonly<Record<Theme, string>> = {
  system: 'Theme: as your system. Switch to light',
  light: 'Theme: light. Switch to dark',
  dark: 'Theme: dark. Follow your system',
};

/** Switches to the next theme: system, light, dark. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
  return (
    <IconButton
      icon={theme}
      label={LABELS[theme]}
      onClick={() => {
        chooseTheme(next);
        setTheme(next);
      }}
    />
  );
}
