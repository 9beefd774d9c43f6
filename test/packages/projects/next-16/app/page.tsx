export default function Page() {
  return <p>Gapless</p>;
}
