// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static io.thalamus.model.OperandCode.BOOL;
import static io.thalamus.model.OperandCode.INT32;
import static io.thalamus.model.OperandCode.SUBGRAPH;
import static io.thalamus.model.OperandCode.TENSOR_BOOL8;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT16;
import static io.thalamus.model.OperandCode.TENSOR_FLOAT32;
import static io.thalamus.model.OperandCode.TENSOR_INT32;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT16_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM;
import static io.thalamus.model.OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ErrorStatus;
import io.thalamus.model.ExtensionOperandType;
import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Lifetime.SubgraphReference;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandType;
import io.thalamus.model.Operation;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Quantization.PerChannel;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A valid model, and each rule broken once. */
class ModelValidatorTest {
  private static final Shape SHAPE = Shape.of(2, 3);
  private static final ModelValidator VALIDATOR = OperationCatalog.standard().validator();

  /**
   * (a + b) + b with operands 0 a, 1 b, 2 the activation, 3 the sum, 4 the result; and a stranger
   * at 5 for what is being tested.
   */
  private static final class Graph {
    private final List<Operand> operands = new ArrayList<>();
    private final List<Operation> operations = new ArrayList<>();
    private List<Integer> inputs = List.of(0, 1);
    private List<Integer> outputs = List.of(4);

    Graph() {
      add(TENSOR_FLOAT32, SHAPE, Quantization.NONE, Lifetime.SUBGRAPH_INPUT);
      add(TENSOR_FLOAT32, SHAPE, Quantization.NONE, Lifetime.SUBGRAPH_INPUT);
      add(INT32, Shape.NONE, Quantization.NONE, new ConstantCopy(new byte[4]));
      add(TENSOR_FLOAT32, SHAPE, Quantization.NONE, Lifetime.TEMPORARY_VARIABLE);
      add(TENSOR_FLOAT32, SHAPE, Quantization.NONE, Lifetime.SUBGRAPH_OUTPUT);
      operations.add(new Operation(OperationCode.ADD, List.of(0, 1, 2), List.of(3)));
      operations.add(new Operation(OperationCode.ADD, List.of(3, 1, 2), List.of(4)));
    }

    Graph add(OperandType type, Shape shape, Quantization quantization, Lifetime lifetime) {
      operands.add(new Operand(type, shape, quantization, lifetime, ""));
      return this;
    }

    Graph constant(OperandType type, Shape shape, Quantization quantization) {
      long size = Math.max(1, shape.elementCount()) * type.elementSize();
      return add(type, shape, quantization, new ConstantCopy(new byte[(int) size]));
    }

    Graph lifetime(int operand, Lifetime lifetime) {
      operands.set(operand, operands.get(operand).with(lifetime));
      return this;
    }

    Graph operation(int index, List<Integer> inputs, List<Integer> outputs) {
      operations.set(index, new Operation(operations.get(index).type(), inputs, outputs));
      return this;
    }

    Subgraph build() {
      return new Subgraph(operands, operations, inputs, outputs);
    }
  }

  private static Quantization quantized(double scale, int zeroPoint) {
    return Quantization.of((float) scale, zeroPoint);
  }

  private static Graph constant(OperandType type, Quantization quantization) {
    return new Graph().constant(type, SHAPE, quantization);
  }

  private static Graph scalar(OperandType type, Quantization quantization) {
    return new Graph().constant(type, Shape.NONE, quantization);
  }

  private static Graph perChannel(int dimension, float... scales) {
    return constant(TENSOR_QUANT8_SYMM_PER_CHANNEL, new PerChannel(dimension, scales));
  }

  @Test
  void acceptsWhatIsValid() throws ValidationException {
    assertEquals(FeatureLevel.V1_0, VALIDATOR.validate(Model.of(new Graph().build())));
    List<Graph> valid =
        List.of(
            constant(TENSOR_QUANT8_ASYMM, quantized(0.5, 255)),
            constant(TENSOR_QUANT8_ASYMM_SIGNED, quantized(0.5, -128)),
            constant(TENSOR_QUANT16_ASYMM, quantized(0.5, 65535)),
            constant(TENSOR_QUANT8_SYMM, quantized(0.5, 0)),
            constant(TENSOR_INT32, quantized(0.5, 0)),
            constant(TENSOR_INT32, Quantization.NONE),
            constant(TENSOR_BOOL8, Quantization.NONE),
            perChannel(1, 1, 2, 3),
            scalar(BOOL, Quantization.NONE),
            new Graph().add(INT32, Shape.NONE, Quantization.NONE, Lifetime.NO_VALUE));
    for (Graph graph : valid) {
      VALIDATOR.validate(Model.of(graph.build()));
    }
  }

  @Test
  void levelIsThatOfTheNewestPartInUse() throws ValidationException {
    Graph half = new Graph();
    for (int i : List.of(0, 1, 3, 4)) {
      Operand operand = half.operands.get(i);
      half.operands.set(
          i, new Operand(TENSOR_FLOAT16, SHAPE, Quantization.NONE, operand.lifetime(), ""));
    }
    assertEquals(FeatureLevel.V1_2, VALIDATOR.validate(Model.of(half.build())));
    Graph unranked = new Graph();
    unranked.operands.set(
        0, new Operand(TENSOR_FLOAT32, Shape.NONE, Quantization.NONE, Lifetime.SUBGRAPH_INPUT, ""));
    assertEquals(FeatureLevel.V1_2, VALIDATOR.validate(Model.of(unranked.build())));
    Graph unused = constant(TENSOR_QUANT8_ASYMM_SIGNED, quantized(1, 0));
    assertEquals(FeatureLevel.V1_0, VALIDATOR.validate(Model.of(unused.build())));
  }

  @Test
  void levelIsJudgedWithoutDefaultsAtTheEnd() throws ValidationException {
    assertEquals(FeatureLevel.V1_0, VALIDATOR.validate(softmax(-1)));
    assertEquals(FeatureLevel.V1_2, VALIDATOR.validate(softmax(1)));
    assertEquals(FeatureLevel.V1_0, VALIDATOR.validate(convolution(false, 1, 1)));
    assertEquals(FeatureLevel.V1_2, VALIDATOR.validate(convolution(true, 1, 1)));
    assertEquals(FeatureLevel.V1_2, VALIDATOR.validate(convolution(false, 2, 1)));
    assertEquals(FeatureLevel.V1_2, VALIDATOR.validate(convolution(false, 1, 2)));
  }

  private static Model softmax(int axis) {
    SubgraphBuilder graph = new SubgraphBuilder();
    int input = graph.input("", TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    int output = graph.output("", TENSOR_FLOAT32, SHAPE, Quantization.NONE);
    graph.operation(
        OperationCode.SOFTMAX,
        List.of(input, graph.float32(1), graph.int32(axis)),
        List.of(output));
    return Model.of(graph.build());
  }

  private static Model convolution(boolean nchw, int dilationWidth, int dilationHeight) {
    SubgraphBuilder graph = new SubgraphBuilder();
    Shape shape = Shape.of(1, 4, 4, 4);
    int input = graph.input("", TENSOR_FLOAT32, shape, Quantization.NONE);
    int filter = graph.input("", TENSOR_FLOAT32, shape, Quantization.NONE);
    int bias = graph.input("", TENSOR_FLOAT32, Shape.of(1), Quantization.NONE);
    int output = graph.output("", TENSOR_FLOAT32, Shape.of(1, 4, 4, 1), Quantization.NONE);
    int one = graph.int32(1);
    graph.operation(
        OperationCode.CONV_2D,
        List.of(
            input,
            filter,
            bias,
            one,
            one,
            one,
            graph.int32(0),
            graph.bool(nchw),
            graph.int32(dilationWidth),
            graph.int32(dilationHeight)),
        List.of(output));
    return Model.of(graph.build());
  }

  @Test
  void acceptsOperationsOfOthers() throws ValidationException {
    Graph graph = new Graph();
    graph.operations.set(
        0,
        new Operation(
            new ExtensionOperationType("com.example", 1, "TWIST"), List.of(0, 1), List.of(3)));
    VALIDATOR.validate(Model.of(graph.build()));
  }

  @TestFactory
  Stream<DynamicTest> refusesBrokenOperands() {
    return Stream.of(
        broken(
            "a scalar with dimensions",
            new Graph().add(INT32, SHAPE, Quantization.NONE, Lifetime.NO_VALUE),
            "operand 5",
            "dimensions"),
        broken("scale of a float", constant(TENSOR_FLOAT32, quantized(1, 0)), "scale"),
        broken("zero point of a float", constant(TENSOR_FLOAT32, quantized(0, 1)), "zero point"),
        broken("scale of a half", constant(TENSOR_FLOAT16, quantized(1, 0)), "scale"),
        broken("scale of a bool", constant(TENSOR_BOOL8, quantized(1, 0)), "scale"),
        broken("scale of a scalar", scalar(INT32, quantized(1, 0)), "scale"),
        broken("negative scale", constant(TENSOR_INT32, quantized(-1, 0)), "negative"),
        broken("zero point of an int", constant(TENSOR_INT32, quantized(1, 1)), "zero point"),
        broken("no scale", constant(TENSOR_QUANT8_ASYMM, Quantization.NONE), "scale"),
        broken("endless scale", constant(TENSOR_QUANT8_ASYMM, quantized(1e99, 0)), "scale"),
        broken("zero point -1", constant(TENSOR_QUANT8_ASYMM, quantized(1, -1)), "-1"),
        broken("zero point 256", constant(TENSOR_QUANT8_ASYMM, quantized(1, 256)), "256"),
        broken("zero point 128", constant(TENSOR_QUANT8_ASYMM_SIGNED, quantized(1, 128)), "128"),
        broken("zero point -129", constant(TENSOR_QUANT8_ASYMM_SIGNED, quantized(1, -129)), "-129"),
        broken("zero point 65536", constant(TENSOR_QUANT16_ASYMM, quantized(1, 65536)), "65536"),
        broken("symmetric zero point", constant(TENSOR_QUANT8_SYMM, quantized(1, 1)), "not 1"),
        broken("symmetric zero point", constant(TENSOR_QUANT16_SYMM, quantized(1, 1)), "not 1"),
        broken("symmetric without scale", constant(TENSOR_QUANT16_SYMM, quantized(0, 0)), "scale"),
        broken(
            "no scales by channel",
            constant(TENSOR_QUANT8_SYMM_PER_CHANNEL, quantized(1, 0)),
            "scales by channel"),
        broken(
            "scales by channel of another type",
            constant(TENSOR_QUANT8_ASYMM, new PerChannel(0, new float[] {1, 1})),
            "scales by channel"),
        broken("negative channel dimension", perChannel(-1, 1, 1), "dimension -1"),
        broken("channel dimension behind", perChannel(2, 1, 1), "dimension 2"),
        broken("too few scales", perChannel(1, 1, 1), "2 scales for 3"),
        broken("a scale of 0", perChannel(0, 1, 0), "scale 0.0"),
        broken(
            "quantized extension type",
            constant(
                new ExtensionOperandType("com.example", 1, "COMPLEX", true, 1), quantized(1, 0)),
            "not quantized"),
        broken(
            "too short constant",
            new Graph()
                .add(TENSOR_FLOAT32, SHAPE, Quantization.NONE, new ConstantCopy(new byte[23])),
            "23 bytes"),
        broken(
            "dimensions beyond counting",
            new Graph()
                .add(
                    TENSOR_FLOAT32,
                    Shape.of(1 << 30, 1 << 30, 1 << 30),
                    Quantization.NONE,
                    new ConstantCopy(new byte[4])),
            "operand 5",
            "beyond counting"),
        broken(
            "constant without dimensions",
            new Graph()
                .add(TENSOR_FLOAT32, Shape.NONE, Quantization.NONE, new ConstantCopy(new byte[4])),
            "needs dimensions"),
        broken(
            "constant graph",
            new Graph().add(SUBGRAPH, Shape.NONE, Quantization.NONE, new ConstantCopy(new byte[0])),
            "cannot be a constant"),
        broken(
            "graph without reference",
            new Graph().add(SUBGRAPH, Shape.NONE, Quantization.NONE, Lifetime.NO_VALUE),
            "must refer"),
        broken(
            "reference by another type",
            new Graph().add(INT32, Shape.NONE, Quantization.NONE, new SubgraphReference(0)),
            "INT32"),
        broken(
            "reference behind the last graph",
            new Graph().add(SUBGRAPH, Shape.NONE, Quantization.NONE, new SubgraphReference(0)),
            "there are 0"));
  }

  @TestFactory
  Stream<DynamicTest> refusesBrokenGraphs() {
    Graph twice = new Graph();
    twice.inputs = List.of(0, 1, 1);
    Graph outside = new Graph();
    outside.inputs = List.of(0, 1, 9);
    Graph negative = new Graph();
    negative.outputs = List.of(-1);
    Graph unlisted = new Graph();
    unlisted.inputs = List.of(0);
    Graph unlistedOutput = new Graph();
    unlistedOutput.outputs = List.of();
    Graph wrongLifetime = new Graph();
    wrongLifetime.outputs = List.of(4, 3);
    Graph swapped = new Graph();
    swapped.operations.add(0, swapped.operations.remove(1));
    Graph removed = new Graph();
    removed.operations.remove(1);
    Graph cycle = new Graph().operation(0, List.of(4, 1, 2), List.of(3));
    Graph secondWriter = new Graph();
    secondWriter.operations.add(secondWriter.operations.get(0));
    return Stream.of(
        broken("an input twice", twice, "twice"),
        broken("an input that is none", outside, "names operand 9"),
        broken("a negative output", negative, "names operand -1"),
        broken("an input that is not listed", unlisted, "operand 1", "not listed"),
        broken("an output that is not listed", unlistedOutput, "operand 4", "not listed"),
        broken("a temporary as output", wrongLifetime, "TEMPORARY_VARIABLE"),
        broken(
            "an input as temporary",
            new Graph().lifetime(0, Lifetime.TEMPORARY_VARIABLE),
            "operand 0"),
        broken("operations out of order", swapped, "not written before"),
        broken("an output that nothing writes", removed, "operand 4 is never written"),
        broken("a circle", cycle, "not written before"),
        broken("two writers", secondWriter, "written before"),
        broken(
            "an input of the graph written",
            new Graph().operation(1, List.of(3, 1, 2), List.of(0)),
            "SUBGRAPH_INPUT"),
        broken(
            "a constant written",
            new Graph().operation(1, List.of(3, 1, 2), List.of(2)),
            "CONSTANT_COPY"),
        broken(
            "an operand that is none read",
            new Graph().operation(1, List.of(3, 5, 2), List.of(4)),
            "names operand 5"),
        broken(
            "an operand that is none written",
            new Graph().operation(1, List.of(3, 1, 2), List.of(5)),
            "names operand 5"),
        broken(
            "an input too few",
            new Graph().operation(1, List.of(3, 1), List.of(4)),
            "operation 1 ADD",
            "2 inputs"),
        broken(
            "an input left out",
            new Graph().lifetime(2, Lifetime.NO_VALUE),
            "operation 0 ADD",
            "input 2"));
  }

  @Test
  void refusesGraphsThatReferToEachOther() {
    Subgraph first = reference(1);
    Subgraph second = reference(0);
    ValidationException refused =
        assertThrows(
            ValidationException.class,
            () -> VALIDATOR.validate(new Model(reference(0), List.of(first, second), false)));
    assertTrue(refused.getMessage().contains("refers to itself"), refused.getMessage());
    Subgraph itself = reference(0);
    assertThrows(
        ValidationException.class,
        () -> VALIDATOR.validate(new Model(reference(0), List.of(itself), false)));
  }

  @Test
  void acceptsTwoReferencesToOneGraph() throws ValidationException {
    Graph main = new Graph();
    main.add(SUBGRAPH, Shape.NONE, Quantization.NONE, new SubgraphReference(0));
    main.add(SUBGRAPH, Shape.NONE, Quantization.NONE, new SubgraphReference(0));
    VALIDATOR.validate(new Model(main.build(), List.of(new Graph().build()), false));
  }

  @Test
  void namesTheGraphThatIsBroken() {
    Graph bad = new Graph();
    bad.inputs = List.of(0);
    ValidationException refused =
        assertThrows(
            ValidationException.class,
            () -> VALIDATOR.validate(new Model(reference(0), List.of(bad.build()), false)));
    assertTrue(refused.getMessage().startsWith("referenced graph 0"), refused.getMessage());
  }

  private static Subgraph reference(int graph) {
    return new Graph()
        .add(SUBGRAPH, Shape.NONE, Quantization.NONE, new SubgraphReference(graph))
        .build();
  }

  /** The graph is refused with INVALID_ARGUMENT and a message with these words. */
  private static DynamicTest broken(String name, Graph graph, String... words) {
    return DynamicTest.dynamicTest(
        name,
        () -> {
          ValidationException refused =
              assertThrows(
                  ValidationException.class, () -> VALIDATOR.validate(Model.of(graph.build())));
          assertEquals(ErrorStatus.INVALID_ARGUMENT, refused.status());
          for (String word : words) {
            assertTrue(refused.getMessage().contains(word), refused.getMessage());
          }
        });
  }
}
