// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.fold.Dims;
import io.thalamus.onnx.fold.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The operators of ai.onnx.ml but for trees: what stands before and behind a classifier or
 * regressor of tables, linear ones and support vectors. Results follow ONNX Runtime, where the
 * standard is silent.
 */
final class Classical {
  private static final String DOMAIN = "ai.onnx.ml";
  private static final String LABELS = "classlabels_ints";
  private static final int MAX_KEYS = 1024;

  /** From this version of the domain on, a key that is no number is found. */
  private static final int FINDS_NAN = 4;

  private Classical() {}

  static void addTo(Converters table) {
    table.add("ai.onnx.ml.Scaler", Classical::scale);
    table.add("ai.onnx.ml.Normalizer", Classical::normalize);
    table.add("ai.onnx.ml.Binarizer", Classical::binarize);
    table.add("ai.onnx.ml.Imputer", Classical::impute);
    table.add("ai.onnx.ml.ArrayFeatureExtractor", Classical::extract);
    table.add("ai.onnx.ml.FeatureVectorizer", Classical::join);
    table.add("ai.onnx.ml.OneHotEncoder", Classical::oneHot);
    table.add("ai.onnx.ml.LabelEncoder", Classical::encode);
    table.add("ai.onnx.ml.ZipMap", node -> node.out(node.in(0)));
    table.add("ai.onnx.ml.LinearRegressor", Classical::linearRegressor);
    table.add("ai.onnx.ml.LinearClassifier", Classical::linearClassifier);
    table.add("ai.onnx.ml.SVMRegressor", Classical::vectorRegressor);
    table.add("ai.onnx.ml.SVMClassifier", Classical::vectorClassifier);
  }

  private static float[] reals(Node node, String name) {
    float[] values = node.reals(name);
    node.require(values != null && values.length > 0, "its " + name + " are missing");
    return values;
  }

  private static Value floats(Node node, int input) {
    return node.ops().cast(node.in(input), DataType.FLOAT);
  }

  /** Data as rows. */
  private static Value rows(Node node) {
    Value data = floats(node, 0);
    node.require(data.rank() == 1 || data.rank() == 2, "its data are " + data.text());
    return data.rank() == 1 ? node.ops().reshape(data, 1, data.count()) : data;
  }

  /** One number, or one for each element along the last axis. */
  private static Value along(Node node, Value data, float[] numbers) {
    boolean fits =
        numbers.length == 1 || data.rank() > 0 && numbers.length == data.dim(data.rank() - 1);
    node.require(fits, "it has " + numbers.length + " numbers for data of " + data.text());
    return node.ops().flat(Scores.row(node.ops(), numbers));
  }

  private static void scale(Node node) {
    Ops ops = node.ops();
    Value data = floats(node, 0);
    Value moved = ops.sub(data, along(node, data, reals(node, "offset")));
    node.out(ops.mul(moved, along(node, data, reals(node, "scale"))));
  }

  /** Rows divided by a norm; one of zeros stays. */
  private static void normalize(Node node) {
    Ops ops = node.ops();
    Value data = floats(node, 0);
    int axis = data.rank() - 1;
    String kind = node.text("norm", "MAX");
    Value norm =
        switch (kind) {
          case "L1" -> ops.reduce(Reduction.SUM, ops.unary(Unary.ABS, data), axis);
          case "L2" -> ops.unary(Unary.SQRT, ops.reduce(Reduction.SUM, ops.square(data), axis));
          case "MAX" -> ops.reduce(Reduction.MAX, data, axis);
          default -> throw node.refuse("its norm is " + kind);
        };
    Value zero = ops.number(DataType.FLOAT, 0);
    Value isNone = ops.binary(Binary.EQUAL, norm, zero);
    node.out(ops.div(data, ops.select(isNone, ops.number(DataType.FLOAT, 1), norm)));
  }

  private static void binarize(Node node) {
    Ops ops = node.ops();
    Value data = node.in(0);
    Value limit = ops.number(data.type(), node.real("threshold", 0));
    node.out(ops.cast(ops.binary(Binary.GREATER, data, limit), data.type()));
  }

  private static void impute(Node node) {
    Ops ops = node.ops();
    Value data = node.in(0);
    int[] whole = node.list("imputed_value_int64s");
    boolean isWhole = !data.type().isFloat();
    node.require(!isWhole || whole != null, "its imputed_value_int64s are missing");
    float[] values = isWhole ? floats(whole) : reals(node, "imputed_value_floats");
    double replaced =
        isWhole ? node.setting("replaced_value_int64", 0) : node.real("replaced_value_float", 0);
    Value isReplaced =
        Double.isNaN(replaced)
            ? ops.binary(Binary.NOT_EQUAL, data, data)
            : ops.binary(Binary.EQUAL, data, ops.number(data.type(), replaced));
    node.out(ops.select(isReplaced, ops.cast(along(node, data, values), data.type()), data));
  }

  private static float[] floats(int[] values) {
    float[] floats = new float[values.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = values[i];
    }
    return floats;
  }

  /** Columns by their numbers. */
  private static void extract(Node node) {
    Ops ops = node.ops();
    if (node.isText(0)) {
      // scikit-learn's labels of classes; the number of a class stands for one that is a text.
      Value places = ops.cast(ops.flat(node.in(1)), DataType.INT64);
      node.out(ops.reshape(places, 1, places.count()));
      return;
    }
    Value data = node.in(0);
    Value rows = data.rank() < 2 ? ops.reshape(data, 1, data.count()) : data;
    node.out(ops.gather(rows, rows.rank() - 1, ops.flat(node.in(1))));
  }

  /** Rows of all inputs, of which some have more axes, as OneHotEncoder adds one. */
  private static void join(Node node) {
    Ops ops = node.ops();
    List<Value> parts = new ArrayList<>();
    for (int i = 0; i < node.inputs(); i++) {
      Value data = floats(node, i);
      int axis = data.rank() < 2 ? 0 : 1;
      int rows = Dims.count(data.shape(), 0, axis);
      int columns = Dims.count(data.shape(), axis, data.rank());
      parts.add(data.rank() == 2 ? data : ops.reshape(data, rows, columns));
    }
    node.out(ops.concat(parts, 1));
  }

  /** For each category whether an element is that one. */
  private static void oneHot(Node node) {
    Ops ops = node.ops();
    int[] categories = node.list("cats_int64s");
    node.require(
        categories != null && categories.length > 0, "its categories are texts, or missing");
    node.require(node.flag("zeros", true), "an unknown category is an error");
    Value data = node.in(0);
    Value column = ops.reshape(data, Dims.insert(data.shape(), data.rank(), 1));
    double[] values = Arrays.stream(categories).asDoubleStream().toArray();
    Value row = ops.constant(data.type(), new int[] {categories.length}, values);
    node.out(ops.cast(ops.binary(Binary.EQUAL, column, row), DataType.FLOAT));
  }

  /** Numbers for numbers, by a table. */
  private static void encode(Node node) {
    Ops ops = node.ops();
    Value data = node.in(0);
    double[] keys = numbers(node, "keys");
    double[] values = numbers(node, "values");
    node.require(
        keys != null && values != null, "its keys or values are texts, which are not known here");
    node.require(
        keys.length == values.length && keys.length > 0, "its keys and values differ in number");
    node.require(keys.length <= MAX_KEYS, "it has more than " + MAX_KEYS + " keys");
    boolean findsNan = node.graph().opset(DOMAIN) >= FINDS_NAN;
    boolean isInTensor = node.hasSetting("values_tensor");
    boolean isWhole = node.hasSetting("values_int64s");
    DataType type =
        isInTensor
            ? node.tensor("values_tensor").type()
            : isWhole ? DataType.INT64 : DataType.FLOAT;
    double otherwise =
        isWhole ? node.setting("default_int64", -1) : node.real("default_float", -0f);
    if (isInTensor && node.hasSetting("default_tensor")) {
      otherwise = node.tensor("default_tensor").constant().number(0);
    } else if (isInTensor) {
      otherwise = type.isFloat() ? -0f : -1;
    }
    Value result = ops.fill(type, data.shape(), otherwise);
    for (int i = keys.length - 1; i >= 0; i--) {
      Value isKey =
          findsNan && Double.isNaN(keys[i])
              ? ops.binary(Binary.NOT_EQUAL, data, data)
              : ops.binary(Binary.EQUAL, data, ops.number(data.type(), keys[i]));
      result = ops.select(isKey, ops.number(type, values[i]), result);
    }
    node.out(result);
  }

  private static double[] numbers(Node node, String name) {
    if (node.hasSetting(name + "_tensor")) {
      Tensor numbers = node.tensor(name + "_tensor").constant();
      return IntStream.range(0, numbers.count()).mapToDouble(numbers::number).toArray();
    }
    int[] whole = node.list(name + "_int64s");
    if (whole != null) {
      return Arrays.stream(whole).asDoubleStream().toArray();
    }
    return node.doubles(name + "_floats");
  }

  // ---- linear ----

  /** Rows times the rows of coefficients, and a number for each of these. */
  private static Value linear(Node node, Value data, float[] coefficients, float[] added) {
    Ops ops = node.ops();
    int outputs = added.length;
    node.require(
        coefficients.length == outputs * data.dim(1),
        "it has %s coefficients for %s columns and %s results"
            .formatted(coefficients.length, data.dim(1), outputs));
    Value weights = ops.reshape(Scores.row(ops, coefficients), outputs, data.dim(1));
    return ops.fullyConnected(data, weights, ops.flat(Scores.row(ops, added)));
  }

  private static void linearRegressor(Node node) {
    int targets = node.setting("targets", 1);
    float[] added = node.reals("intercepts");
    node.require(targets > 0 && targets <= 1 << 20, "it has " + targets + " targets");
    node.require(added == null || added.length == targets, "its intercepts are not " + targets);
    float[] intercepts = added == null ? new float[targets] : added;
    Value scores = linear(node, rows(node), reals(node, "coefficients"), intercepts);
    node.out(Scores.transformed(node, scores));
  }

  private static void linearClassifier(Node node) {
    Ops ops = node.ops();
    Value scores = linear(node, rows(node), reals(node, "coefficients"), reals(node, "intercepts"));
    int classes = Scores.classes(node, LABELS);
    if (scores.dim(1) == 1 && classes == 2) {
      Value isSecond = ops.binary(Binary.GREATER, scores, ops.number(DataType.FLOAT, 0));
      node.out(0, Scores.labels(node, LABELS, ops.cast(isSecond, DataType.INT64)));
      node.out(1, Scores.ofTwo(node, scores, true));
      return;
    }
    node.require(classes == scores.dim(1), "it has " + classes + " labels");
    node.out(0, Scores.labels(node, LABELS, ops.place(scores, 1, true, false)));
    node.out(1, Scores.transformed(node, scores));
  }

  // ---- support vectors ----

  /** For each row and support vector how alike they are. */
  private static Value likeness(Node node, Value data, float[] vectors) {
    Ops ops = node.ops();
    float[] settings = node.reals("kernel_params");
    float[] known = settings == null ? new float[3] : Arrays.copyOf(settings, 3);
    int count = vectors.length / data.dim(1);
    node.require(vectors.length == count * data.dim(1), "its support_vectors do not fit its data");
    Value product = linear(node, data, vectors, new float[count]);
    String kind = node.text("kernel_type", "LINEAR");
    return switch (kind) {
      case "LINEAR" -> product;
      case "POLY" ->
          ops.binary(
              Binary.POW,
              ops.add(ops.mul(product, known[0]), known[1]),
              ops.number(DataType.FLOAT, known[2]));
      case "SIGMOID" -> ops.unary(Unary.TANH, ops.add(ops.mul(product, known[0]), known[1]));
      case "RBF" -> {
        Value points = ops.reshape(Scores.row(ops, vectors), 1, count, data.dim(1));
        Value each = ops.reshape(data, data.dim(0), 1, data.dim(1));
        Value apart = ops.square(ops.sub(each, points));
        Value distance = ops.reshape(ops.reduce(Reduction.SUM, apart, 2), data.dim(0), count);
        yield ops.unary(Unary.EXP, ops.mul(distance, -known[0]));
      }
      default -> throw node.refuse("its kernel_type is " + kind);
    };
  }

  private static void vectorRegressor(Node node) {
    Ops ops = node.ops();
    float[] coefficients = reals(node, "coefficients");
    float[] rho = reals(node, "rho");
    Value data = rows(node);
    Value seen =
        node.setting("n_supports", 0) > 0
            ? likeness(node, data, reals(node, "support_vectors"))
            : data;
    Value score = linear(node, seen, coefficients, new float[] {rho[0]});
    if (node.flag("one_class", false)) {
      Value isIn = ops.binary(Binary.GREATER, score, ops.number(DataType.FLOAT, 0));
      Value one = ops.number(DataType.FLOAT, 1);
      score = ops.select(isIn, one, ops.number(DataType.FLOAT, -1));
    }
    node.out(Scores.transformed(node, score));
  }

  /** Each pair of classes has a score, and a vote by its sign. */
  private static void vectorClassifier(Node node) {
    Ops ops = node.ops();
    int classes = Scores.classes(node, LABELS);
    int[] counts = node.list("vectors_per_class");
    node.require(
        counts != null && counts.length == classes && classes > 1,
        "it has no support vectors for each of its classes");
    float[] coefficients = reals(node, "coefficients");
    float[] rho = reals(node, "rho");
    int pairs = Math.multiplyExact(classes, classes - 1) / 2;
    int vectors = Arrays.stream(counts).sum();
    node.require(
        Arrays.stream(counts).allMatch(count -> count >= 0)
            && coefficients.length == Math.multiplyExact(classes - 1, vectors)
            && rho.length >= pairs,
        "its coefficients do not fit its classes");
    double[] weights = ops.budget().doubles(Math.multiplyExact(pairs, vectors));
    int[] first = ops.budget().ints(pairs);
    int[] second = ops.budget().ints(pairs);
    int pair = 0;
    for (int i = 0, start = 0; i < classes; start += counts[i++]) {
      for (int j = i + 1, other = start + counts[i]; j < classes; other += counts[j++]) {
        for (int k = start; k < start + counts[i]; k++) {
          weights[pair * vectors + k] = coefficients[(j - 1) * vectors + k];
        }
        for (int k = other; k < other + counts[j]; k++) {
          weights[pair * vectors + k] = coefficients[i * vectors + k];
        }
        first[pair] = i;
        second[pair++] = j;
      }
    }
    Value likeness = likeness(node, rows(node), reals(node, "support_vectors"));
    Value scores =
        ops.fullyConnected(
            likeness,
            ops.constant(DataType.FLOAT, new int[] {pairs, vectors}, weights),
            ops.flat(Scores.row(ops, Arrays.copyOf(rho, pairs))));
    Value votes = votes(ops, scores, classes, first, second);
    node.out(0, Scores.labels(node, LABELS, ops.place(votes, 1, true, false)));
    if (node.reals("prob_a") != null) {
      node.out(
          1,
          Scores.transformed(node, Coupling.probabilities(node, scores, classes, first, second)));
      return;
    }
    boolean isPlain = node.text("post_transform", "NONE").equals("NONE");
    node.out(
        1, classes == 2 ? Scores.ofTwo(node, scores, !isPlain) : Scores.transformed(node, scores));
  }

  private static Value votes(Ops ops, Value scores, int classes, int[] first, int[] second) {
    Value isFirst = ops.binary(Binary.GREATER, scores, ops.number(DataType.FLOAT, 0));
    Value vote = ops.cast(isFirst, DataType.FLOAT);
    int pairs = first.length;
    double[] table = ops.budget().doubles(Math.multiplyExact(pairs, classes));
    double[] added = ops.budget().doubles(classes);
    for (int i = 0; i < pairs; i++) {
      table[first[i] * pairs + i] += 1;
      table[second[i] * pairs + i] -= 1;
      added[second[i]] += 1;
    }
    return ops.fullyConnected(
        vote,
        ops.constant(DataType.FLOAT, new int[] {classes, pairs}, table),
        ops.constant(DataType.FLOAT, new int[] {classes}, added));
  }
}
