// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite.convert;

import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ReadOptions;
import io.thalamus.tflite.file.FlatGraph;
import io.thalamus.tflite.file.FlatModel;
import io.thalamus.tflite.file.Refusal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Makes a model of a file's content. Used once; not thread-safe. */
public final class ModelConverter {
  /** The deepest nesting of loops: a damaged file must not exhaust the stack. */
  private static final int MAX_NESTING = 32;

  /** Programs of more operations take long to compile. */
  private static final int MOST_INLINED = 1 << 13;

  /** What is tried and taken back is work too, which a damaged file must not ask for at will. */
  private static final int MOST_TRIED = 1 << 16;

  private final FlatModel file;
  private final Converters converters;
  private final Constants constants;
  private final List<Subgraph> referenced = new ArrayList<>();
  private final Map<Reference, Integer> referenceOfGraph = new HashMap<>();
  private final Set<Integer> underConversion = new HashSet<>();
  private final Variables variables;
  private final Tables tables = new Tables();
  private final boolean hybrid;
  private int inlined;
  private int tried;

  private ModelConverter(FlatModel file, ReadOptions options, Converters converters) {
    this.file = file;
    this.hybrid = options.hybrid();
    this.variables = new Variables(file);
    this.converters = converters;
    this.constants = new Constants(file.file());
  }

  /**
   * Converts the graph of an entry point and those that it refers to.
   *
   * @throws Refusal where NNAPI cannot express an operator, or the file contradicts itself
   */
  public static Converted convert(
      FlatModel file, EntryPoint entry, ReadOptions options, Converters converters) {
    ModelConverter converter = new ModelConverter(file, options, converters);
    converter.underConversion.add(entry.graph().index());
    Subgraph main =
        new GraphConverter(converter, entry, converter.constants, converters).convert(Map.of());
    return new Converted(
        new Model(main, converter.referenced, false), converter.variables.firstValues());
  }

  /**
   * A model with what its states begin with.
   *
   * @param firstValues for {@link ModelFile#firstValues}
   */
  public record Converted(Model model, Map<Integer, Lifetime.Constant> firstValues) {}

  /**
   * Converts a graph that control flow refers to, unless that has happened.
   *
   * @param given its inputs; see {@link #form}
   * @param known by number of the input, constants that inputs always are
   * @return its index among the model's referenced graphs
   */
  int reference(int graph, List<Operand> given, Map<Integer, Operand> known) {
    Map<Integer, ByteBuffer> values = new HashMap<>();
    known.forEach(
        (input, operand) ->
            values.put(input, ByteBuffer.wrap(((ConstantCopy) operand.lifetime()).value())));
    Reference wanted = new Reference(graph, List.copyOf(given), values);
    Integer found = referenceOfGraph.get(wanted);
    if (found != null) {
      return found;
    }
    Subgraph subgraph =
        within(
            graph,
            flat ->
                new GraphConverter(this, EntryPoint.of(flat).given(given), constants, converters)
                    .convert(known));
    referenced.add(subgraph);
    referenceOfGraph.put(wanted, referenced.size() - 1);
    return referenced.size() - 1;
  }

  /** A graph for inputs of some types, shapes and values. */
  private record Reference(int graph, List<Operand> given, Map<Integer, ByteBuffer> known) {}

  /** An operand's type and shape alone. */
  static Operand form(Operand operand) {
    return new Operand(
        operand.type(), operand.shape(), operand.quantization(), Lifetime.NO_VALUE, "");
  }

  /** The inputs of a graph, where operands of some types and shapes are given to it. */
  List<Operand> given(int graph, List<Operand> operands) {
    return EntryPoint.of(graph(graph)).completed(operands);
  }

  /** The first inputs that a graph gives back as they are, by their numbers. */
  int[] passed(int graph, int most) {
    int[] inputs = graph(graph).inputs();
    int[] outputs = graph(graph).outputs();
    return IntStream.range(0, Math.min(most, Math.min(inputs.length, outputs.length)))
        .filter(i -> inputs[i] == outputs[i])
        .toArray();
  }

  private FlatGraph graph(int index) {
    if (index < 0 || index >= file.graphs().size()) {
      throw new Refusal("there is no graph " + index);
    }
    return file.graphs().get(index);
  }

  /** The types and shapes of what a referenced graph gives. */
  List<Operand> results(int reference) {
    Subgraph graph = referenced.get(reference);
    return graph.outputIndexes().stream().map(index -> form(graph.operands().get(index))).toList();
  }

  /** The number of referenced graphs. */
  int references() {
    return referenced.size();
  }

  /** Forgets the referenced graphs since there were so many. */
  void forgetReferences(int before) {
    referenced.subList(before, referenced.size()).clear();
    referenceOfGraph.values().removeIf(index -> index >= before);
  }

  Variables variables() {
    return variables;
  }

  Tables tables() {
    return tables;
  }

  /** Returns whether hybrid layers round their data; see {@link ReadOptions#hybrid}. */
  boolean isHybrid() {
    return hybrid;
  }

  /**
   * Does what converts the operators of a graph that control flow refers to.
   *
   * @throws Refusal also where there is no such graph, or it is being converted
   */
  <T> T within(int graph, Function<FlatGraph, T> work) {
    FlatGraph found = graph(graph);
    if (!underConversion.add(graph)) {
      throw new Refusal("graph " + graph + " refers to itself");
    }
    try {
      if (underConversion.size() > MAX_NESTING) {
        throw new Refusal("its graphs are nested more than " + MAX_NESTING + " deep");
      }
      return work.apply(found);
    } finally {
      underConversion.remove(graph);
    }
  }

  /** The number of operators that have been converted in the place of loops and branches. */
  int inlined() {
    return inlined;
  }

  /** Forgets the operators since there were so many: what they stood for stays. */
  void forgetInlined(int before) {
    inlined = before;
  }

  /**
   * Counts an operator that is converted in the place of a loop or a branch.
   *
   * @throws Refusal where there have been too many: what is written out grows with each round, and
   *     loops stand in loops
   */
  void countInlined() {
    inlined++;
    countTried(1);
  }

  /** Counts operators that are converted once more, for other shapes. */
  void countTried(int operators) {
    tried += operators;
    if (inlined > MOST_INLINED || tried > MOST_TRIED) {
      throw new Refusal("its loops have too many rounds to be written out");
    }
  }
}
