// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver.cache;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.SubgraphBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The arguments of a compiled model as they stand in a cache, in numbers of 32 bits: for each
 * input, then each output its type, 1 if it is quantized, the bits of its scale, its zero point,
 * the number of its dimensions and these; then for each output the number of dimensions of its
 * result and these. Immutable.
 *
 * @param model the graph of inputs and outputs alone
 * @param shapes of the results
 */
public record CachedArguments(Model model, List<Shape> shapes) {
  public CachedArguments {
    shapes = List.copyOf(shapes);
  }

  /** Returns whether the numbers can say what the arguments of a graph are. */
  public static boolean isPossible(Subgraph graph) {
    return Stream.concat(graph.inputIndexes().stream(), graph.outputIndexes().stream())
        .map(graph.operands()::get)
        .allMatch(
            operand ->
                operand.type() instanceof OperandCode
                    && !(operand.quantization() instanceof Quantization.PerChannel));
  }

  /** Returns a graph of the inputs and outputs of another. */
  public static Model alone(Subgraph graph) {
    SubgraphBuilder builder = new SubgraphBuilder();
    List<Integer> inputs = new ArrayList<>();
    List<Integer> outputs = new ArrayList<>();
    graph.inputIndexes().forEach(i -> inputs.add(builder.operand(graph.operands().get(i))));
    graph.outputIndexes().forEach(i -> outputs.add(builder.operand(graph.operands().get(i))));
    return Model.of(builder.build(inputs, outputs));
  }

  /** Returns the numbers. */
  public int[] numbers() {
    Subgraph graph = model.main();
    IntStream.Builder numbers = IntStream.builder();
    graph.inputIndexes().forEach(i -> write(graph.operands().get(i), numbers));
    graph.outputIndexes().forEach(i -> write(graph.operands().get(i), numbers));
    shapes.forEach(shape -> write(shape, numbers));
    return numbers.build().toArray();
  }

  private static void write(Operand operand, IntStream.Builder numbers) {
    numbers.add(((OperandCode) operand.type()).code());
    numbers.add(operand.quantization() instanceof Quantization.None ? 0 : 1);
    numbers.add(Float.floatToRawIntBits(operand.quantization().scale()));
    numbers.add(operand.quantization().zeroPoint());
    write(operand.shape(), numbers);
  }

  private static void write(Shape shape, IntStream.Builder numbers) {
    numbers.add(shape.rank());
    Arrays.stream(shape.toArray()).forEach(numbers::add);
  }

  /** Returns what {@link #numbers} say, one after the other. */
  public static CachedArguments read(int inputs, int outputs, IntSupplier numbers) {
    SubgraphBuilder builder = new SubgraphBuilder();
    for (int i = 0; i < inputs; i++) {
      read(numbers, builder, Lifetime.SUBGRAPH_INPUT);
    }
    for (int i = 0; i < outputs; i++) {
      read(numbers, builder, Lifetime.SUBGRAPH_OUTPUT);
    }
    Subgraph graph =
        builder.build(
            IntStream.range(0, inputs).boxed().toList(),
            IntStream.range(inputs, inputs + outputs).boxed().toList());
    List<Shape> shapes = new ArrayList<>();
    for (int i = 0; i < outputs; i++) {
      shapes.add(shape(numbers));
    }
    return new CachedArguments(Model.of(graph), shapes);
  }

  private static void read(IntSupplier numbers, SubgraphBuilder builder, Lifetime lifetime) {
    OperandCode type = OperandCode.ofCode(numbers.getAsInt()).orElseThrow();
    boolean isQuantized = numbers.getAsInt() != 0;
    float scale = Float.intBitsToFloat(numbers.getAsInt());
    int zeroPoint = numbers.getAsInt();
    Quantization quantization =
        isQuantized ? new Quantization.PerTensor(scale, zeroPoint) : Quantization.NONE;
    builder.operand(new Operand(type, shape(numbers), quantization, lifetime, ""));
  }

  private static Shape shape(IntSupplier numbers) {
    int[] dimensions = new int[numbers.getAsInt()];
    Arrays.setAll(dimensions, _ -> numbers.getAsInt());
    return Shape.of(dimensions);
  }
}
