export function JobPage(_: { id: string; tab: string; params: URLSearchParams }) { return <p>…</p>; }
