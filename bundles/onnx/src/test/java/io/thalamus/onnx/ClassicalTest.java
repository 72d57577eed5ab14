// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx;

import static io.thalamus.onnx.OnnxFileBuilder.FLOAT;
import static io.thalamus.onnx.OnnxFileBuilder.integer;
import static io.thalamus.onnx.OnnxFileBuilder.ints;
import static io.thalamus.onnx.OnnxFileBuilder.reals;
import static io.thalamus.onnx.OnnxFileBuilder.text;
import static io.thalamus.onnx.OnnxFileBuilder.texts;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.onnx.OnnxFileBuilder.Message;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The operators of ai.onnx.ml; numbers are computed by hand. */
class ClassicalTest {
  private static final String ML = "ai.onnx.ml.";
  private static final float NAN = Float.NaN;

  private final OnnxFileBuilder file = new OnnxFileBuilder();

  /** The result of one operator for rows. */
  private float[] run(String type, int width, int results, float[] rows, Message... settings)
      throws Exception {
    int count = rows.length / width;
    file.input("x", FLOAT, count, width)
        .node(ML + type, List.of("x"), "y", settings)
        .output("y", FLOAT, count, results);
    return TestFiles.run(file, rows);
  }

  /** The scores of a classifier for rows; its labels are no output of the graph. */
  private float[] scores(String type, int width, int classes, float[] rows, Message... settings)
      throws Exception {
    int count = rows.length / width;
    file.input("x", FLOAT, count, width)
        .node(ML + type, List.of("x"), List.of("label", "y"), settings)
        .output("y", FLOAT, count, classes);
    return TestFiles.run(file, rows);
  }

  /** The labels of a classifier for rows, as floats. */
  private float[] labels(String type, int width, float[] rows, Message... settings)
      throws Exception {
    int count = rows.length / width;
    file.input("x", FLOAT, count, width)
        .node(ML + type, List.of("x"), List.of("label", "scores"), settings)
        .node("Cast", List.of("label"), "y", integer("to", FLOAT))
        .output("y", FLOAT, count);
    return TestFiles.run(file, rows);
  }

  /** Two trees over two features: one of two levels, and one of one level. */
  private static List<Message> trees(String first, String second, long... tracks) {
    return new ArrayList<>(
        List.of(
            ints("nodes_treeids", 0, 0, 0, 0, 0, 1, 1, 1),
            ints("nodes_nodeids", 0, 1, 2, 3, 4, 0, 1, 2),
            ints("nodes_featureids", 0, 1, 0, 0, 0, 1, 0, 0),
            reals("nodes_values", 1, 5, 0, 0, 0, 2, 0, 0),
            texts("nodes_modes", first, second, "LEAF", "LEAF", "LEAF", first, "LEAF", "LEAF"),
            ints("nodes_truenodeids", 1, 3, 0, 0, 0, 1, 0, 0),
            ints("nodes_falsenodeids", 2, 4, 0, 0, 0, 2, 0, 0),
            ints("nodes_missing_value_tracks_true", tracks)));
  }

  private static Message[] regressor(List<Message> trees, String aggregate, float... base) {
    trees.addAll(
        List.of(
            ints("target_treeids", 0, 0, 0, 1, 1),
            ints("target_nodeids", 2, 3, 4, 1, 2),
            ints("target_ids", 0, 0, 0, 0, 0),
            reals("target_weights", 10, 20, 30, 1, 2),
            integer("n_targets", 1),
            text("aggregate_function", aggregate)));
    if (base.length > 0) {
      trees.add(reals("base_values", base));
    }
    return trees.toArray(Message[]::new);
  }

  private static final float[] ROWS = {1, 5, 1, 6, 2, 2, NAN, 0, 0, NAN};
  private static final long[] NO_TRACKS = new long[8];

  @Test
  void rowsGoDownAllTrees() throws Exception {
    Message[] sum = regressor(trees("BRANCH_LEQ", "BRANCH_LEQ", NO_TRACKS), "SUM", 100);
    assertArrayEquals(
        new float[] {122, 132, 111, 111, 132}, run("TreeEnsembleRegressor", 2, 1, ROWS, sum));
  }

  @Test
  void whatIsMissingGoesWhereANodeSays() throws Exception {
    Message[] sum = regressor(trees("BRANCH_LT", "BRANCH_LT", 1, 1, 0, 0, 0, 0, 0, 0), "AVERAGE");
    // 1 is not less than 1; of the last row the first tree goes to its true branch twice
    assertArrayEquals(
        new float[] {6, 6, 6, 10.5f, 11}, run("TreeEnsembleRegressor", 2, 1, ROWS, sum));
  }

  @Test
  void nodesCompareInWaysOfTheirOwn() throws Exception {
    Message[] most = regressor(trees("BRANCH_GTE", "BRANCH_NEQ", NO_TRACKS), "MAX");
    assertArrayEquals(
        new float[] {30, 20, 20, 10, 10}, run("TreeEnsembleRegressor", 2, 1, ROWS, most));
  }

  /** As ONNX Runtime has it: what no leaf of a row names is 0, whatever the base is. */
  @Test
  void aBaseIsAddedToWhatLeavesName() throws Exception {
    List<Message> settings = trees("BRANCH_LEQ", "BRANCH_LEQ", NO_TRACKS);
    settings.addAll(
        List.of(
            ints("target_treeids", 0, 0, 0, 1, 1),
            ints("target_nodeids", 2, 3, 4, 1, 2),
            ints("target_ids", 0, 1, 0, 0, 1),
            reals("target_weights", 10, 20, 30, 1, 2),
            integer("n_targets", 2),
            reals("base_values", 100, 200)));
    assertArrayEquals(
        new float[] {0, 222, 130, 202, 111, 0},
        run("TreeEnsembleRegressor", 2, 2, rows(), settings.toArray(Message[]::new)));
  }

  /** As ONNX Runtime has it: of the functions a single target has PROBIT alone. */
  @Test
  void aSingleTargetIsNoLogistic() throws Exception {
    List<Message> settings = trees("BRANCH_LEQ", "BRANCH_LEQ", NO_TRACKS);
    settings.add(text("post_transform", "LOGISTIC"));
    assertArrayEquals(
        new float[] {22, 32, 11},
        run("TreeEnsembleRegressor", 2, 1, rows(), regressor(settings, "SUM")));
  }

  @Test
  void oneScoreMakesTwoClasses() throws Exception {
    List<Message> settings = trees("BRANCH_LEQ", "BRANCH_LEQ", NO_TRACKS);
    settings.addAll(
        List.of(
            ints("class_treeids", 0, 0, 0, 1, 1),
            ints("class_nodeids", 2, 3, 4, 1, 2),
            ints("class_ids", 0, 0, 0, 0, 0),
            reals("class_weights", -2, 0.5f, 1, -1, 1),
            ints("classlabels_int64s", 7, 9)));
    Message[] all = settings.toArray(Message[]::new);
    assertArrayEquals(
        new float[] {-1.5f, 1.5f, -2, 2, 3, -3},
        scores("TreeEnsembleClassifier", 2, 2, rows(), all));
    OnnxFileBuilder other = new OnnxFileBuilder();
    other
        .input("x", FLOAT, 3, 2)
        .node(ML + "TreeEnsembleClassifier", List.of("x"), List.of("label", "scores"), all)
        .node("Cast", List.of("label"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 3);
    assertArrayEquals(new float[] {9, 9, 7}, TestFiles.run(other, rows()));
  }

  private static float[] rows() {
    return new float[] {1, 5, 1, 6, 2, 2};
  }

  @Test
  void treesThatGoRoundAreRefused() {
    List<Message> settings = trees("BRANCH_LEQ", "BRANCH_LEQ", NO_TRACKS);
    settings.set(5, ints("nodes_truenodeids", 1, 1, 0, 0, 0, 1, 0, 0));
    Message[] sum = regressor(settings, "SUM");
    ModelFormatException refusal =
        assertThrows(
            ModelFormatException.class, () -> run("TreeEnsembleRegressor", 2, 1, ROWS, sum));
    assertTrue(
        refusal.getMessage().endsWith("its trees are deeper than 256"), refusal.getMessage());
  }

  @Test
  void labelsOfTextsAreTheNumbersOfTheirClasses() throws Exception {
    assertArrayEquals(
        new float[] {1, 0},
        labels(
            "LinearClassifier",
            2,
            new float[] {1, 3, 3, 1},
            reals("coefficients", 1, 0, 0, 1),
            reals("intercepts", 0, 0.5f),
            texts("classlabels_strings", "left", "right")));
  }

  @Test
  void scoresBecomeProbabilities() throws Exception {
    float of2 = (float) (1 / (1 + Math.exp(-2)));
    assertArrayEquals(
        new float[] {1 - of2, of2},
        scores(
            "LinearClassifier",
            2,
            2,
            new float[] {1, 3},
            reals("coefficients", -1, 1),
            reals("intercepts", 0),
            ints("classlabels_ints", 0, 1),
            text("post_transform", "LOGISTIC")),
        1e-6f);
  }

  @Test
  void rowsAreScaledNormalizedAndFilledUp() throws Exception {
    assertArrayEquals(
        new float[] {0, 6},
        run("Scaler", 2, 2, new float[] {1, 4}, reals("offset", 1, 1), reals("scale", 5, 2)));
    assertArrayEquals(
        new float[] {0.25f, -0.75f, 0, 0},
        new ClassicalTest().run("Normalizer", 2, 2, new float[] {1, -3, 0, 0}, text("norm", "L1")));
    assertArrayEquals(
        new float[] {7, 2, 3, 8},
        new ClassicalTest()
            .run(
                "Imputer",
                2,
                2,
                new float[] {NAN, 2, 3, NAN},
                reals("imputed_value_floats", 7, 8),
                OnnxFileBuilder.real("replaced_value_float", NAN)));
  }

  /** One vector of each class: rows are nearer to one of them. */
  @Test
  void supportVectorsVote() throws Exception {
    Message[] settings = {
      reals("support_vectors", 0, 0, 4, 0, 0, 4),
      ints("vectors_per_class", 1, 1, 1),
      reals("coefficients", 1, -1, -1, 1, 1, -1),
      reals("rho", 0, 0, 0),
      text("kernel_type", "RBF"),
      reals("kernel_params", 0.1f, 0, 0),
      ints("classlabels_ints", 3, 5, 8)
    };
    float[] rows = {1, 0, 3, 1, 0, 5};
    assertArrayEquals(new float[] {3, 5, 8}, labels("SVMClassifier", 2, rows, settings));
    double near = Math.exp(-0.1);
    double far = Math.exp(-0.9);
    double third = Math.exp(-1.7);
    assertArrayEquals(
        new float[] {(float) (near - far), (float) (near - third), (float) (far - third)},
        new ClassicalTest().scores("SVMClassifier", 2, 3, new float[] {1, 0}, settings),
        1e-6f);
  }

  /** Results hold the numbers of classes. */
  @Test
  void textsThatNameClassesStandInTheDescription() throws Exception {
    file.input("x", FLOAT, 1, 1)
        .node(
            ML + "LinearClassifier",
            List.of("x"),
            List.of("label", "y"),
            reals("coefficients", 1, -1),
            reals("intercepts", 0, 0),
            texts("classlabels_strings", "cat", "dog"))
        .output("y", FLOAT, 1, 2);
    assertEquals(
        "Classes: 0 cat, 1 dog.", TestFiles.readFile(file.build(), Map.of()).description());
  }

  /** Leaves of 5 and -3 for the first output, and of 12 for the second; 1, 2 and 9 are a set. */
  @Test
  void treesOfVersion5() throws Exception {
    float[] rows = {1, 2, 3, 1, 2, 9, 8, 5};
    assertArrayEquals(
        new float[] {5, 0, 0, 12, 5, 0, 0, 12}, run("TreeEnsemble", 2, 2, rows, ensemble(6)));
  }

  @Test
  void treesOfVersion5GiveTheTypeOfTheirData() throws Exception {
    int float64 = 11;
    file.input("x", float64, 1, 2)
        .node(ML + "TreeEnsemble", List.of("x"), "y", ensemble(6))
        .output("y", float64, 1, 2);
    Subgraph graph = TestFiles.read(file.build()).main();
    assertEquals(graph.input(0).type(), graph.output(0).type());
  }

  /** As Core ML's converter writes it: OneHotEncoder gives an axis more than the others have. */
  @Test
  void rowsOfMoreAxesAreJoined() throws Exception {
    file.input("x", FLOAT, 2, 1)
        .node(ML + "OneHotEncoder", List.of("x"), "flags", ints("cats_int64s", 4, 7))
        .node(ML + "FeatureVectorizer", List.of("flags", "x"), "y", ints("inputdimensions", 2, 1))
        .output("y", FLOAT, 2, 3);
    assertArrayEquals(new float[] {0, 1, 7, 1, 0, 4}, TestFiles.run(file, 7, 4));
  }

  @Test
  void treesOfVersion5Compare() throws Exception {
    OnnxFileBuilder other = new OnnxFileBuilder();
    other
        .input("x", FLOAT, 3, 2)
        .node(ML + "TreeEnsemble", List.of("x"), "y", ensemble(3))
        .output("y", FLOAT, 3, 2);
    // the second feature must be above 7
    assertArrayEquals(new float[] {0, 12, 5, 0, 0, 12}, TestFiles.run(other, 1, 2, 2, 9, 8, 50));
  }

  /** As scikit-learn's voting classifiers end; a label that is a text is shown as its number. */
  @Test
  void labelsOfTextAreTheNumbersOfTheirClasses() throws Exception {
    file.input("x", FLOAT, 2, 3)
        .strings("classes", "cat", "dog", "owl")
        .integers("all", new long[] {1}, -1)
        .node("ArgMax", List.of("x"), "places", integer("axis", 1))
        .node(ML + "ArrayFeatureExtractor", List.of("classes", "places"), "found")
        .node("Reshape", List.of("found", "all"), "label")
        .node("Cast", List.of("label"), "y", integer("to", FLOAT))
        .output("y", FLOAT, 2);
    assertArrayEquals(new float[] {2, 1}, TestFiles.run(file, 0, 0.25f, 0.75f, 0, 1, 0));
  }

  private static Message[] ensemble(int mode) {
    return new Message[] {
      integer("n_targets", 2),
      integer("aggregate_function", 1),
      ints("tree_roots", 0),
      OnnxFileBuilder.bytes("nodes_modes", 2, 0, mode),
      ints("nodes_featureids", 0, 1),
      OnnxFileBuilder.floats("nodes_splits", 2.5f, 7),
      ints("nodes_truenodeids", 1, 0),
      ints("nodes_trueleafs", 0, 1),
      ints("nodes_falsenodeids", 1, 1),
      ints("nodes_falseleafs", 1, 1),
      ints("leaf_targetids", 0, 1),
      OnnxFileBuilder.floats("leaf_weights", 5, 12),
      OnnxFileBuilder.floats("membership_values", 1, 2, 9, NAN),
    };
  }

  /** The table of the normal distribution: 0.975 is below 1.96, and 0.1 below -1.2816. */
  @Test
  void probits() throws Exception {
    float[] found =
        run(
            "LinearRegressor",
            1,
            1,
            new float[] {0.975f, 0.1f, 0.5f},
            reals("coefficients", 1),
            text("post_transform", "PROBIT"));
    assertArrayEquals(new float[] {1.96f, -1.2816f, 0}, found, 5e-3f);
  }

  @Test
  void labelsOfTablesInTensors() throws Exception {
    Message[] tables = {
      OnnxFileBuilder.floats("keys_tensor", 1, 3),
      OnnxFileBuilder.floats("values_tensor", 10, 30),
      OnnxFileBuilder.floats("default_tensor", -7),
    };
    assertArrayEquals(
        new float[] {30, -7, 10}, run("LabelEncoder", 3, 3, new float[] {3, 2, 1}, tables));
  }
}
