/** The builder gives .txt files as text. */
declare module "*.txt" {
  const text: string;
  export default text;
}
