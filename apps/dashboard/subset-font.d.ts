declare module 'subset-font' {
  interface SubsetOptions {
    readonly targetFormat?: 'woff' | 'woff2';
    readonly variationAxes?: Readonly<Record<string, { readonly min: number; readonly max: number }>>;
  }

  /** Returns the font with the characters of the text only. */
  export default function subsetFont(font: Uint8Array, text: string, options?: SubsetOptions): Promise<Uint8Array>;
}
