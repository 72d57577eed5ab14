// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.onnx.convert.Ops.Reduction;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxAttribute;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Ensembles of decision trees. All trees are gone down at once: a place for each row and tree moves
 * by gathers from the root as many levels as the deepest tree has, and leaves lead to themselves.
 * Scores and labels follow ONNX Runtime, where the standard is silent.
 */
final class Trees {
  private static final int MAX_DEPTH = 256;
  private static final String LEAF = "LEAF";
  private static final String MEMBER = "BRANCH_MEMBER";

  /** By the numbers that TreeEnsemble has for them. */
  private static final List<String> MODES =
      List.of(
          "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", MEMBER);

  private static final List<String> AGGREGATES = List.of("AVERAGE", "SUM", "MIN", "MAX");
  private static final List<String> TRANSFORMS =
      List.of("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT");

  private static final Map<String, Binary> COMPARISONS =
      Map.of(
          "BRANCH_LEQ", Binary.LESS_EQUAL,
          "BRANCH_LT", Binary.LESS,
          "BRANCH_GTE", Binary.GREATER_EQUAL,
          "BRANCH_GT", Binary.GREATER,
          "BRANCH_EQ", Binary.EQUAL,
          "BRANCH_NEQ", Binary.NOT_EQUAL);

  private final Node node;
  private final Ops ops;
  private final int count;
  private final int[] features;
  private final float[] numbers;
  private final List<String> modes;
  private final int[] yes;
  private final int[] no;
  private final int[] missing;
  private final Map<Long, Integer> places = new HashMap<>();
  private final int[] roots;
  private Value ends;

  /** The trees of the operators with lists that name the tree of each node. */
  private Trees(Node node) {
    this.node = node;
    this.ops = node.ops();
    int[] trees = ints("nodes_treeids");
    count = trees.length;
    int[] ids = sized("nodes_nodeids");
    features = sized("nodes_featureids");
    numbers = reals("nodes_values");
    OnnxAttribute kinds = node.onnx().attributes().get("nodes_modes");
    modes = kinds == null ? List.of() : kinds.strings();
    int[] yesIds = sized("nodes_truenodeids");
    int[] noIds = sized("nodes_falsenodeids");
    missing =
        node.hasSetting("nodes_missing_value_tracks_true")
            ? sized("nodes_missing_value_tracks_true")
            : new int[count];
    node.require(
        count > 0 && numbers.length == count && modes.size() == count,
        "its lists of nodes are of different lengths");
    for (int i = 0; i < count; i++) {
      node.require(
          places.put(key(trees[i], ids[i]), i) == null, "a node of its trees is there twice");
    }
    yes = new int[count];
    no = new int[count];
    boolean[] isChild = new boolean[count];
    for (int i = 0; i < count; i++) {
      boolean isLeaf = modes.get(i).equals(LEAF);
      node.require(
          isLeaf || COMPARISONS.containsKey(modes.get(i)), "it has a node of mode " + modes.get(i));
      yes[i] = isLeaf ? i : place(trees[i], yesIds[i]);
      no[i] = isLeaf ? i : place(trees[i], noIds[i]);
      if (!isLeaf) {
        isChild[yes[i]] = true;
        isChild[no[i]] = true;
      }
    }
    roots = IntStream.range(0, count).filter(i -> !isChild[i]).toArray();
    node.require(roots.length > 0, "its trees have no roots");
  }

  /** The trees of TreeEnsemble, whose leaves are lists of their own; they come behind the nodes. */
  private Trees(Node node, int leaves) {
    this.node = node;
    this.ops = node.ops();
    int[] kinds = numbers("nodes_modes");
    int[] asked = ints("nodes_featureids");
    float[] limits = reals("nodes_splits");
    int[] tracks = node.list("nodes_missing_value_tracks_true");
    int nodes = kinds.length;
    node.require(
        nodes > 0
            && asked.length == nodes
            && limits.length == nodes
            && (tracks == null || tracks.length == nodes),
        "its lists of nodes are of different lengths");
    int[][] ways = {ways(true, nodes, leaves), ways(false, nodes, leaves)};
    List<int[]> links = new ArrayList<>();
    List<Integer> features = new ArrayList<>();
    List<Float> numbers = new ArrayList<>();
    List<Integer> missing = new ArrayList<>();
    modes = new ArrayList<>();
    float[] members = reals("membership_values");
    int member = 0;
    for (int i = 0; i < nodes + leaves; i++) {
      boolean isLeaf = i >= nodes;
      node.require(isLeaf || kinds[i] >= 0 && kinds[i] < MODES.size(), "a node has another mode");
      String mode = isLeaf ? LEAF : MODES.get(kinds[i]);
      modes.add(mode.equals(MEMBER) ? "BRANCH_EQ" : mode);
      links.add(isLeaf ? new int[] {i, i} : new int[] {ways[0][i], ways[1][i]});
      features.add(isLeaf ? 0 : asked[i]);
      numbers.add(isLeaf ? 0 : limits[i]);
      missing.add(isLeaf || tracks == null ? 0 : tracks[i]);
    }
    // A set of numbers is asked for one by one: further nodes ask for those behind the first.
    for (int i = 0; i < nodes; i++) {
      if (MODES.get(kinds[i]).equals(MEMBER)) {
        int last = i;
        int first = member;
        while (member < members.length && !Float.isNaN(members[member])) {
          if (member > first) {
            links.add(new int[] {ways[0][i], ways[1][i]});
            links.get(last)[1] = links.size() - 1;
            last = links.size() - 1;
            modes.add("BRANCH_EQ");
            features.add(asked[i]);
            missing.add(missing.get(i));
            numbers.add(0f);
          }
          numbers.set(last, members[member++]);
        }
        node.require(member > first, "a node asks for none of no numbers");
        member++;
      }
    }
    count = links.size();
    this.features = features.stream().mapToInt(i -> i).toArray();
    this.missing = missing.stream().mapToInt(i -> i).toArray();
    this.numbers = new float[count];
    for (int i = 0; i < count; i++) {
      this.numbers[i] = numbers.get(i);
    }
    yes = links.stream().mapToInt(link -> link[0]).toArray();
    no = links.stream().mapToInt(link -> link[1]).toArray();
    roots = ints("tree_roots");
    node.require(
        roots.length > 0 && Arrays.stream(roots).allMatch(root -> root >= 0 && root < nodes),
        "its tree_roots are no nodes");
  }

  /** For each node where it leads. */
  private int[] ways(boolean isTrue, int nodes, int leaves) {
    String name = isTrue ? "nodes_true" : "nodes_false";
    int[] targets = ints(name + "nodeids");
    int[] isLeaf = ints(name + "leafs");
    node.require(
        targets.length == nodes && isLeaf.length == nodes,
        "its lists of nodes are of different lengths");
    int[] ways = new int[nodes];
    for (int i = 0; i < nodes; i++) {
      int most = isLeaf[i] != 0 ? leaves : nodes;
      node.require(targets[i] >= 0 && targets[i] < most, "there is no node " + targets[i]);
      ways[i] = isLeaf[i] != 0 ? nodes + targets[i] : targets[i];
    }
    return ways;
  }

  static void addTo(Converters table) {
    table.add("ai.onnx.ml.TreeEnsemble", Trees::ensemble);
    table.add("ai.onnx.ml.TreeEnsembleClassifier", node -> new Trees(node).classify());
    table.add("ai.onnx.ml.TreeEnsembleRegressor", node -> new Trees(node).regress());
  }

  private static long key(int tree, int id) {
    return (long) tree << 32 | id & 0xffffffffL;
  }

  private int place(int tree, int id) {
    Integer place = places.get(key(tree, id));
    node.require(place != null, "there is no node " + id + " in its tree " + tree);
    return place;
  }

  private int[] ints(String name) {
    int[] values = node.list(name);
    node.require(values != null, "its " + name + " are missing");
    return values;
  }

  private int[] sized(String name) {
    int[] values = ints(name);
    node.require(values.length == count, "its " + name + " are " + values.length);
    return values;
  }

  /** A list of real numbers, which newer files keep in a tensor; empty where there is none. */
  private float[] reals(String name) {
    OnnxAttribute own = node.onnx().attributes().get(name);
    String inTensor = own != null && own.tensor() != null ? name : name + "_as_tensor";
    if (node.hasSetting(inTensor)) {
      Value value = node.tensor(inTensor);
      float[] values = new float[value.count()];
      for (int i = 0; i < values.length; i++) {
        values[i] = (float) value.constant().number(i);
      }
      return values;
    }
    float[] values = node.reals(name);
    return values == null ? new float[0] : values;
  }

  private int[] numbers(String name) {
    long[] values = node.tensor(name).constant().integers();
    return Arrays.stream(values).mapToInt(Math::toIntExact).toArray();
  }

  /** The levels below the roots. */
  private int depth() {
    int[] level = roots;
    int depth = 0;
    while (Arrays.stream(level).anyMatch(i -> yes[i] != i || no[i] != i)) {
      node.require(++depth <= MAX_DEPTH, "its trees are deeper than " + MAX_DEPTH);
      level = Arrays.stream(level).flatMap(i -> IntStream.of(yes[i], no[i])).distinct().toArray();
    }
    return depth;
  }

  private Value table(int[] values) {
    return ops.integers(new int[] {count}, values);
  }

  /** For each row and tree the node where the row ends. */
  private Value ends() {
    if (ends == null) {
      ends = found();
    }
    return ends;
  }

  private Value found() {
    Value rows = ops.cast(node.in(0), DataType.FLOAT);
    node.require(rows.rank() == 1 || rows.rank() == 2, "its data are " + rows.text());
    Value data = rows.rank() == 1 ? ops.reshape(rows, 1, rows.count()) : rows;
    int width = data.dim(1);
    node.require(
        Arrays.stream(features).allMatch(feature -> feature >= 0 && feature < width),
        "it asks for features that its data of " + width + " columns do not have");
    int[] starts = ops.budget().range(data.dim(0));
    Arrays.setAll(starts, i -> i * width);
    Value firsts = ops.integers(new int[] {data.dim(0), 1}, starts);
    Value all = ops.flat(data);
    double[] limits = ops.budget().doubles(count);
    Arrays.setAll(limits, i -> numbers[i]);
    Value limit = ops.constant(DataType.FLOAT, new int[] {count}, limits);
    Value feature = table(features);
    Value places = ops.integers(new int[] {1, roots.length}, roots);
    int depth = depth();
    for (int level = 0; level < depth; level++) {
      Value index = ops.add(ops.gather(feature, 0, places), firsts);
      Value number = ops.gather(all, 0, index);
      Value isSo = isSo(number, ops.gather(limit, 0, places), places);
      places =
          ops.select(isSo, ops.gather(table(yes), 0, places), ops.gather(table(no), 0, places));
    }
    return ops.expand(places, data.dim(0), roots.length);
  }

  /** Whether rows follow the true branch. */
  private Value isSo(Value number, Value limit, Value places) {
    List<String> kinds = modes.stream().filter(mode -> !mode.equals(LEAF)).distinct().toList();
    Value isSo = null;
    for (String kind : kinds) {
      Value holds = ops.binary(COMPARISONS.get(kind), number, limit);
      if (kinds.size() > 1) {
        int[] flags = modes.stream().mapToInt(mode -> mode.equals(kind) ? 1 : 0).toArray();
        holds = ops.binary(Binary.AND, holds, flagged(flags, places));
      }
      isSo = isSo == null ? holds : ops.binary(Binary.OR, isSo, holds);
    }
    if (Arrays.stream(missing).allMatch(track -> track == 0)) {
      return isSo;
    }
    Value isMissing = ops.binary(Binary.NOT_EQUAL, number, number);
    return ops.binary(Binary.OR, isSo, ops.binary(Binary.AND, isMissing, flagged(missing, places)));
  }

  private Value flagged(int[] flags, Value places) {
    Value found = ops.gather(table(flags), 0, places);
    return ops.binary(Binary.NOT_EQUAL, found, ops.number(found.type(), 0));
  }

  /** The weights that leaves have for outputs. */
  private record Leaves(int[] places, int[] targets, float[] weights) {}

  /** The leaves by the names of their settings. */
  private Leaves leaves(String prefix) {
    int[] trees = ints(prefix + "_treeids");
    int[] ids = ints(prefix + "_nodeids");
    int[] targets = ints(prefix + "_ids");
    float[] weights = reals(prefix + "_weights");
    node.require(
        trees.length == ids.length
            && trees.length == targets.length
            && trees.length == weights.length,
        "its lists of weights are of different lengths");
    int[] places = new int[trees.length];
    for (int i = 0; i < places.length; i++) {
      places[i] = place(trees[i], ids[i]);
    }
    return new Leaves(places, targets, weights);
  }

  /**
   * For each row and output what the leaves say together.
   *
   * @param outputs how many there are
   * @param none what a leaf says of an output that it does not name
   */
  private Value scores(Leaves said, int outputs, Reduction kind, double none) {
    double[] table = ops.budget().doubles(Math.multiplyExact(count, outputs));
    Arrays.fill(table, none);
    boolean[] isNamed = new boolean[table.length];
    for (int i = 0; i < said.places().length; i++) {
      int target = said.targets()[i];
      node.require(target >= 0 && target < outputs, "it has a weight of output " + target);
      int place = said.places()[i] * outputs + target;
      float weight = said.weights()[i];
      table[place] = isNamed[place] && kind == Reduction.SUM ? table[place] + weight : weight;
      isNamed[place] = true;
    }
    Value ends = ends();
    Value found =
        ops.gather(ops.constant(DataType.FLOAT, new int[] {count, outputs}, table), 0, ends);
    return ops.reshape(ops.reduce(kind, found, 1), ends.dim(0), outputs);
  }

  /** What the trees say, together. */
  private Value together(String aggregate, Leaves said, int outputs) {
    return switch (aggregate) {
      case "SUM" -> scores(said, outputs, Reduction.SUM, 0);
      case "AVERAGE" -> ops.mul(scores(said, outputs, Reduction.SUM, 0), 1.0 / roots.length);
      case "MIN" -> scores(said, outputs, Reduction.MIN, Double.POSITIVE_INFINITY);
      case "MAX" -> scores(said, outputs, Reduction.MAX, Double.NEGATIVE_INFINITY);
      default -> throw node.refuse("its aggregate_function is " + aggregate);
    };
  }

  private static void ensemble(Node node) {
    int[] targets = node.list("leaf_targetids");
    node.require(targets != null && targets.length > 0, "its leaf_targetids are missing");
    Trees trees = new Trees(node, targets.length);
    float[] weights = trees.reals("leaf_weights");
    int outputs = node.setting("n_targets", 1);
    int aggregate = node.setting("aggregate_function", 1);
    int transform = node.setting("post_transform", 0);
    node.require(
        outputs > 0
            && weights.length == targets.length
            && aggregate >= 0
            && aggregate < AGGREGATES.size()
            && transform >= 0
            && transform < TRANSFORMS.size(),
        "its leaves and settings do not fit each other");
    int nodes = trees.numbers("nodes_modes").length;
    int[] leaves = IntStream.range(nodes, nodes + targets.length).toArray();
    trees.regress(
        new Leaves(leaves, targets, weights),
        outputs,
        AGGREGATES.get(aggregate),
        TRANSFORMS.get(transform));
  }

  private void regress() {
    int targets = node.setting("n_targets", 1);
    node.require(targets > 0, "it has " + targets + " targets");
    regress(
        leaves("target"),
        targets,
        node.text("aggregate_function", "SUM"),
        node.text("post_transform", "NONE"));
  }

  private void regress(Leaves said, int outputs, String aggregate, String transform) {
    Value scores = together(aggregate, said, outputs);
    float[] base = reals("base_values");
    if (base.length > 0) {
      node.require(base.length == outputs, "it has " + base.length + " base_values");
      scores = Scores.added(ops, scores, base);
    }
    if (outputs > 1) {
      scores = Scores.transformed(node, named(scores, said, outputs), transform);
    } else if (transform.equals("PROBIT")) {
      // ONNX Runtime leaves a single target as it is, but for this one.
      scores = Scores.transformed(node, scores, transform);
    }
    // The younger operator gives what it is given, the older one float32.
    boolean isYoung = node.onnx().type().equals("TreeEnsemble");
    node.out(isYoung ? ops.cast(scores, node.in(0).type()) : scores);
  }

  /** The scores, but 0 without any base where no leaf of a row names an output. */
  private Value named(Value scores, Leaves said, int outputs) {
    float[] ones = new float[said.weights().length];
    Arrays.fill(ones, 1);
    Leaves flags = new Leaves(said.places(), said.targets(), ones);
    Value zero = ops.number(DataType.FLOAT, 0);
    Value isNamed = ops.binary(Binary.GREATER, scores(flags, outputs, Reduction.MAX, 0), zero);
    return ops.select(isNamed, scores, zero);
  }

  private void classify() {
    int classes = Scores.classes(node, "classlabels_int64s");
    float[] base = reals("base_values");
    Value scores = scores(leaves("class"), classes, Reduction.SUM, 0);
    if (classes > 2) {
      node.require(
          base.length == 0 || base.length == classes, "it has " + base.length + " base_values");
      Value all = base.length == 0 ? scores : Scores.added(ops, scores, base);
      node.out(0, Scores.labels(node, "classlabels_int64s", ops.place(all, 1, true, false)));
      node.out(1, Scores.transformed(node, all));
      return;
    }
    node.require(classes == 2 && base.length <= 1, "it has " + base.length + " base_values");
    int[] named = Arrays.stream(ints("class_ids")).distinct().toArray();
    Value first = ops.part(scores, 1, 0, 1);
    Value second = ops.part(scores, 1, 1, 1);
    boolean isOne = named.length == 1;
    if (base.length == 1 && !(isOne && named[0] == 1)) {
      first = ops.add(first, base[0]);
    }
    Value decisive = isOne && named[0] == 0 ? first : second;
    float[] weights = reals("class_weights");
    boolean isPositive = IntStream.range(0, weights.length).allMatch(i -> weights[i] >= 0);
    Value isSecond =
        ops.binary(
            Binary.GREATER, decisive, ops.number(DataType.FLOAT, isOne && isPositive ? 0.5 : 0));
    Value place = ops.cast(ops.reshape(isSecond, scores.dim(0), 1), DataType.INT64);
    node.out(
        0,
        isOne
            ? Scores.labels(node, "classlabels_int64s", place)
            : ops.reshape(place, scores.dim(0)));
    node.out(
        1,
        isOne && named[0] == 0
            ? Scores.ofTwo(node, first, isPositive)
            : Scores.transformed(node, ops.concat(List.of(first, second), 1)));
  }
}
