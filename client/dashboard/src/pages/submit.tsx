export function SubmitPage(_: { params: URLSearchParams }) { return <p>…</p>; }
