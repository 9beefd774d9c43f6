let name = 'Gapless';

/** The name that pages show. In the portal, it is the product's. */
export function productName(): string {
  return name;
}

export function setProductName(text: string): void {
  name = text;
}
