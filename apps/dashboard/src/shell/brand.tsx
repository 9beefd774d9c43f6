/** The mark: a sequence without a gap. */
export function Brand() {
  return (
    <span className="brand">
      <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" className="brand-ground" />
        <g fill="#fff">
          <rect x="6" y="17" width="4" height="8" rx="1.4" />
          <rect x="11.3" y="13.5" width="4" height="11.5" rx="1.4" />
          <rect x="16.6" y="10" width="4" height="15" rx="1.4" />
          <rect x="21.9" y="6.5" width="4" height="18.5" rx="1.4" />
        </g>
      </svg>
      Gapless
    </span>
  );
}
