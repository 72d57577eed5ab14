// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.hal.Device;
import io.thalamus.model.OperandCode;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.reference.Evaluator;
import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Makes random graphs by seed, each with inputs and expected outputs. Graphs grow forward from
 * their inputs, by operations that fit what is there. Immutable and thread-safe.
 */
public final class GraphGenerator {
  /** The tries of a kind before a device is said not to support it, or it does not fit. */
  private static final int TRIES = 40;

  /** The probability that an operation continues with the type of the last result. */
  private static final double CONTINUED = 0.75;

  private final List<Kind> kinds;

  /** Says whether an operation alone is supported. */
  private final Predicate<Example> acceptable;

  private final Evaluator evaluator = new Evaluator();

  private GraphGenerator(List<Kind> kinds, Predicate<Example> acceptable) {
    this.kinds = List.copyOf(kinds);
    this.acceptable = acceptable;
  }

  /** Over all operations and types that can be generated. */
  public static GraphGenerator overAll() {
    return new GraphGenerator(Kinds.all(), example -> true);
  }

  /** Over those that a device supports: it is asked about each operation alone. */
  public static GraphGenerator over(Device device) {
    Predicate<Example> supported = example -> Probes.takes(device, example);
    GraphGenerator all = new GraphGenerator(Kinds.all(), supported);
    return new GraphGenerator(
        all.kinds.stream().filter(kind -> !all.singles(kind, 1, 0).isEmpty()).toList(), supported);
  }

  /** The operations in types that graphs are made of, for example {@code ADD TENSOR_INT32}. */
  public Set<String> kinds() {
    return kinds.stream()
        .map(kind -> kind.operation() + " " + kind.type())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The operations that graphs are made of. */
  public Set<String> operations() {
    return kinds.stream().map(Kind::operation).collect(Collectors.toCollection(TreeSet::new));
  }

  /** Graphs of one operation each: as many for each kind as are wanted, as far as they fit. */
  public List<Example> singles(int forEach, long seed) {
    return kinds.stream().flatMap(kind -> singles(kind, forEach, seed).stream()).toList();
  }

  private List<Example> singles(Kind kind, int count, long seed) {
    List<Example> examples = new ArrayList<>();
    for (int i = 0; i < count * TRIES && examples.size() < count; i++) {
      single(kind, seed * count * TRIES + i).ifPresent(examples::add);
    }
    return examples;
  }

  private Optional<Example> single(Kind kind, long seed) {
    GraphDraft draft = new GraphDraft(random(seed), evaluator, acceptable);
    String name = (kind.operation() + "_" + kind.type() + "_" + seed).toLowerCase(Locale.ROOT);
    return kind.grow(draft) ? finish(draft, name) : Optional.empty();
  }

  /** A graph without a tensor from outside has nothing to be run with. */
  private static Optional<Example> finish(GraphDraft draft, String name) {
    return draft.hasLeaf() ? Optional.of(draft.finish(name)) : Optional.empty();
  }

  /** Seeds that follow each other must not give like graphs. */
  private static Random random(long seed) {
    return new Random(seed * 0x9E37_79B9_7F4A_7C15L + 0x1234_5678L);
  }

  /**
   * The graph of a seed; the same for the same kinds.
   *
   * @throws IllegalStateException where there are no kinds
   */
  public Example graph(long seed) {
    if (kinds.isEmpty()) {
      throw new IllegalStateException("the device supports nothing that can be generated");
    }
    Random random = random(seed);
    while (true) {
      GraphDraft draft = new GraphDraft(random, evaluator, acceptable);
      int operations = size(random);
      for (int i = 0; i < operations * TRIES && draft.operationCount() < operations; i++) {
        next(draft).grow(draft);
      }
      if (draft.operationCount() > 0 && draft.hasLeaf()) {
        return draft.finish("random_graph_" + seed);
      }
    }
  }

  private static int size(Random random) {
    return switch (random.nextInt(5)) {
      case 0, 1 -> 1 + random.nextInt(3);
      case 2, 3 -> 4 + random.nextInt(3);
      default -> 7 + random.nextInt(10);
    };
  }

  private Kind next(GraphDraft draft) {
    Random random = draft.random();
    Optional<OperandCode> last = draft.lastType();
    List<Kind> fitting = kinds;
    if (last.isPresent() && random.nextDouble() < CONTINUED) {
      List<Kind> continuing = kinds.stream().filter(kind -> kind.type() == last.get()).toList();
      fitting = continuing.isEmpty() ? kinds : continuing;
    }
    return fitting.get(random.nextInt(fitting.size()));
  }
}
