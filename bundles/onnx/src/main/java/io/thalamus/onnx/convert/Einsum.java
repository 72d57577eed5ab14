// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.fold.Dims;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Einstein's summation: one matrix product for each further operand, over what both share and
 * nothing later needs. Dimensions are named by letters; those of an ellipsis by control characters.
 */
final class Einsum {
  private static final String ELLIPSIS = "...";

  private final Node node;
  private final Ops ops;
  private int ellipsis;

  private Einsum(Node node) {
    this.node = node;
    this.ops = node.ops();
  }

  /** A value with a letter for each of its dimensions. */
  private record Term(String letters, Value value) {
    int axis(char letter) {
      return letters.indexOf(letter);
    }

    boolean has(char letter) {
      return axis(letter) >= 0;
    }
  }

  static void addTo(Converters table) {
    table.add("Einsum", node -> new Einsum(node).convert());
  }

  private void convert() {
    String equation = node.text("equation", "").replace(" ", "");
    int arrow = equation.indexOf("->");
    String[] inputs = (arrow < 0 ? equation : equation.substring(0, arrow)).split(",", -1);
    node.require(inputs.length == node.inputs(), "its equation has not as many terms as inputs");
    List<Term> terms =
        IntStream.range(0, inputs.length).mapToObj(i -> term(inputs[i], node.in(i))).toList();
    String output = arrow < 0 ? implied(inputs) : expanded(equation.substring(arrow + 2), ellipsis);
    Term result = reduced(terms.getFirst(), needed(terms, 1, output));
    for (int i = 1; i < terms.size(); i++) {
      result = product(result, terms.get(i), needed(terms, i + 1, output));
    }
    node.out(arranged(reduced(result, output), output));
  }

  /** A term with its ellipsis named, counted from the end, and each letter once. */
  private Term term(String text, Value value) {
    int named = text.replace(ELLIPSIS, "").length();
    boolean isOpen = text.contains(ELLIPSIS);
    int hidden = value.rank() - named;
    node.require(isOpen ? hidden >= 0 : hidden == 0, "'" + text + "' does not fit " + value.text());
    ellipsis = Math.max(ellipsis, hidden);
    String letters = expanded(text, hidden);
    int[] strides = Dims.strides(value.shape());
    TreeMap<Integer, Character> firsts = new TreeMap<>();
    letters.chars().distinct().forEach(c -> firsts.put(letters.indexOf(c), (char) c));
    int[] sizes = new int[firsts.size()];
    int[] steps = new int[firsts.size()];
    StringBuilder once = new StringBuilder();
    for (char letter : firsts.values()) {
      int next = once.length();
      for (int axis = 0; axis < letters.length(); axis++) {
        if (letters.charAt(axis) == letter) {
          node.require(
              sizes[next] == 0 || sizes[next] == value.dim(axis), "'" + letter + "' has two sizes");
          sizes[next] = value.dim(axis);
          steps[next] += strides[axis];
        }
      }
      once.append(letter);
    }
    Value seen = once.length() == value.rank() ? value : ops.view(value, sizes, steps, 0);
    return new Term(once.toString(), seen);
  }

  private static String expanded(String text, int hidden) {
    StringBuilder names = new StringBuilder();
    for (int i = hidden; i > 0; i--) {
      names.append((char) i);
    }
    return text.replace(ELLIPSIS, names);
  }

  /** Without an arrow: the ellipsis, and the letters that stand once, in their order. */
  private String implied(String... inputs) {
    String all = String.join("", inputs);
    StringBuilder output = new StringBuilder();
    all.replace(".", "")
        .chars()
        .filter(c -> all.indexOf(c) == all.lastIndexOf(c))
        .sorted()
        .forEach(c -> output.append((char) c));
    return expanded(all.contains(ELLIPSIS) ? ELLIPSIS : "", ellipsis) + output;
  }

  private static String needed(List<Term> terms, int from, String output) {
    StringBuilder letters = new StringBuilder(output);
    terms.subList(from, terms.size()).forEach(term -> letters.append(term.letters()));
    return letters.toString();
  }

  /** The sum over all letters that nothing needs. */
  private Term reduced(Term term, String needed) {
    int[] axes =
        IntStream.range(0, term.letters().length())
            .filter(axis -> needed.indexOf(term.letters().charAt(axis)) < 0)
            .toArray();
    if (axes.length == 0) {
      return term;
    }
    int[] kept = MoveOps.others(term.value().rank(), axes);
    Value sum = ops.reduce(Reduction.SUM, term.value(), axes);
    StringBuilder letters = new StringBuilder();
    for (int axis : kept) {
      letters.append(term.letters().charAt(axis));
    }
    return new Term(letters.toString(), ops.reshape(sum, Dims.permute(term.value().shape(), kept)));
  }

  private Term product(Term first, Term second, String needed) {
    Term a = reduced(first, needed + second.letters());
    Term b = reduced(second, needed + a.letters());
    StringBuilder batch = new StringBuilder();
    StringBuilder summed = new StringBuilder();
    StringBuilder rows = new StringBuilder();
    StringBuilder columns = new StringBuilder();
    for (char letter : a.letters().toCharArray()) {
      boolean isShared = b.has(letter);
      boolean isNeeded = needed.indexOf(letter) >= 0;
      (isShared ? isNeeded ? batch : summed : rows).append(letter);
    }
    b.letters().chars().filter(c -> !a.has((char) c)).forEach(c -> columns.append((char) c));
    Value left = matrices(a, b, batch.toString(), rows.toString(), summed.toString());
    Value right = matrices(b, a, batch.toString(), columns.toString(), summed.toString());
    int[] shape = new int[batch.length() + rows.length() + columns.length()];
    String letters = batch.toString() + rows + columns;
    for (int i = 0; i < shape.length; i++) {
      char letter = letters.charAt(i);
      shape[i] = Math.max(size(a, letter), size(b, letter));
    }
    return new Term(letters, ops.reshape(ops.multiply(left, right, true), shape));
  }

  private static int size(Term term, char letter) {
    return term.has(letter) ? term.value().dim(term.axis(letter)) : 1;
  }

  /** The value as {@code [batch, own, summed]}, with sizes of 1 repeated as the other has them. */
  private Value matrices(Term term, Term other, String batch, String own, String summed) {
    String order = batch + own + summed;
    Value value = arranged(term, order);
    int[] shape = value.shape().clone();
    for (int i = 0; i < shape.length; i++) {
      char letter = order.charAt(i);
      int size = size(other, letter);
      node.require(
          !other.has(letter) || shape[i] == size || shape[i] == 1 || size == 1,
          "'" + letter + "' has two sizes");
      shape[i] = Math.max(shape[i], other.has(letter) ? size : 1);
    }
    int split = batch.length() + own.length();
    return ops.reshape(
        ops.expand(value, shape),
        Dims.count(shape, 0, batch.length()),
        Dims.count(shape, batch.length(), split),
        Dims.count(shape, split, shape.length));
  }

  private Value arranged(Term term, String order) {
    for (char letter : order.toCharArray()) {
      node.require(term.has(letter), "'" + letter + "' is none of its inputs'");
    }
    return ops.transpose(term.value(), order.chars().map(c -> term.axis((char) c)).toArray());
  }
}
