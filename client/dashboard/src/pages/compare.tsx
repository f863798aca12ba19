export function ComparePage(_: { params: URLSearchParams }) { return <p>…</p>; }
