import type { PortalSession } from '../api/resources.js';
import { speakForProduct, words } from '../session/wording.js';

/** Gives the pages the name and the colour of the product. */
export function showBranding({ name, accent }: PortalSession['branding']): void {
  speakForProduct(name);
  document.title = words().product;
  if (accent === null) return;
  const mixed = (percent: number, other: string) => `color-mix(in oklab, ${accent} ${percent}%, ${other})`;
  const colours = {
    '--accent': `light-dark(${mixed(88, 'black')}, ${mixed(40, 'white')})`,
    '--accent-solid': accent,
    '--accent-solid-hover': mixed(85, 'black'),
    '--accent-soft': `light-dark(${mixed(10, 'white')}, ${mixed(28, '#101114')})`,
    '--focus': `light-dark(${accent}, ${mixed(40, 'white')})`,
  };
  for (const [property, colour] of Object.entries(colours)) {
    document.documentElement.style.setProperty(property, colour);
  }
}
