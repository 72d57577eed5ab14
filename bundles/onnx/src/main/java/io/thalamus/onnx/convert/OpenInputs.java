// SPDX-License-Identifier: Apache-2.0
package io.thalamus.onnx.convert;

import io.thalamus.model.Model;
import io.thalamus.model.Shape;
import io.thalamus.onnx.file.DataFiles;
import io.thalamus.onnx.file.DataType;
import io.thalamus.onnx.file.OnnxAttribute;
import io.thalamus.onnx.file.OnnxGraph;
import io.thalamus.onnx.file.OnnxModel;
import io.thalamus.onnx.file.OnnxTensor;
import io.thalamus.onnx.file.OnnxValue;
import io.thalamus.onnx.file.Refusal;
import io.thalamus.onnx.fold.Budget;
import io.thalamus.onnx.fold.Tensors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongToIntFunction;
import java.util.stream.Stream;

/**
 * The inputs of a file that have open dimensions. Until an execution says which ones it has, they
 * are 1, or where the operators allow no such small ones, those that constants beside them demand
 * and else the first that they allow of some usual sizes and of those that the file's shapes have,
 * since exporters write down sizes that they should have left open. Some stay 1 all the same,
 * unless the operators do not allow that either: a leading one, which is mostly the batch, and
 * those that the file names as it. Immutable.
 */
public final class OpenInputs {
  private static final int[] SIZES = {1, 64, 224, 512};
  private static final int MOST_WRITTEN = 8;
  private static final int MOST_DIMENSIONS = 8;
  private static final int LARGEST = 1 << 14;

  /**
   * Bytes of constants that are computed in vain, which a damaged file must not ask for at will.
   */
  private static final long MOST_TRIED = 1 << 28;

  /** Of so many names each may be the sum of two others. */
  private static final int MOST_NAMES = 6;

  /** The name of a dimension that has none. */
  static final long UNNAMED = -1;

  private static final NeededSizes.Choice SAME = (input, axis, otherwise) -> otherwise;

  private final Map<String, long[]> open;

  private OpenInputs(Map<String, long[]> open) {
    this.open = open;
  }

  /** Returns those of a file whose number of dimensions is stated. */
  public static OpenInputs of(OnnxModel file) {
    Map<String, long[]> open = new LinkedHashMap<>();
    for (OnnxValue input : file.graph().inputs()) {
      boolean isOpen =
          !file.graph().constants().containsKey(input.name())
              && input.dims() != null
              && isOpen(input.dims());
      if (isOpen) {
        open.put(input.name(), input.dims());
      }
    }
    return new OpenInputs(open);
  }

  private static boolean isOpen(long... dims) {
    boolean isOpen = false;
    for (long size : dims) {
      if (size == 0 || size != (int) size) {
        return false;
      }
      isOpen |= size < 0;
    }
    return isOpen;
  }

  /**
   * Converts a file.
   *
   * @param chosen dimensions of inputs by name, or by number where no input is called so
   * @throws Refusal as {@link GraphConverter#convert}
   */
  public Model convert(
      OnnxModel file, DataFiles files, Converters converters, Map<String, Shape> chosen) {
    List<String> names = new ArrayList<>();
    for (OnnxValue input : file.graph().inputs()) {
      if (!file.graph().constants().containsKey(input.name())) {
        names.add(input.name());
      }
    }
    Map<String, Shape> given = new HashMap<>();
    chosen.forEach((name, shape) -> given.put(named(name, names), shape));
    boolean isGiven =
        given.keySet().containsAll(open.keySet()) || !names.containsAll(given.keySet());
    Refusal first = null;
    long tried = 0;
    // The sizes in the file's shapes are looked for only if nothing else fits.
    Iterator<Map<String, Shape>> choices =
        isGiven
            ? Set.of(given).iterator()
            : Stream.of(
                    Stream.of(with(given, Batches.LEADING, SAME, name -> 1)),
                    Stream.of(file.graph())
                        .flatMap(graph -> choices(given, NeededSizes.of(graph), SIZES).stream()),
                    choices(given, SAME, SIZES).stream(),
                    Stream.of(file.graph())
                        .flatMap(graph -> choices(given, SAME, written(graph)).stream()))
                .flatMap(each -> each)
                .distinct()
                .iterator();
    while (choices.hasNext()) {
      Map<String, Shape> shapes = choices.next();
      if (tried > MOST_TRIED + files.size()) {
        break;
      }
      Budget budget = new Budget(files.size());
      try {
        return GraphConverter.convert(file, files, converters, shapes, budget, first != null);
      } catch (Refusal e) {
        first = first == null ? e : first;
        tried += budget.taken();
      }
    }
    throw isGiven
        ? first
        : new Refusal(
            first.getMessage() + " (open dimensions were taken as 1; give others by their input)",
            first);
  }

  private static String named(String name, List<String> names) {
    for (int i = 0; i < names.size() && !names.contains(name); i++) {
      if (name.equals(Integer.toString(i))) {
        return names.get(i);
      }
    }
    return name;
  }

  /** The dimensions that stay 1. */
  private enum Batches {
    LEADING,
    /** Also one that alone is open beside inputs with more of them, as in the states of a batch. */
    LONELY,
    NONE
  }

  private Set<Map<String, Shape>> choices(
      Map<String, Shape> given, NeededSizes.Choice needed, int... sizes) {
    Set<Map<String, Shape>> choices = new LinkedHashSet<>();
    choices.add(with(given, Batches.LEADING, needed, name -> 1));
    // One may be the sum of two others, as the keys that a mask is of are those stored and the new.
    List<Long> others =
        open.values().stream().flatMap(dims -> Arrays.stream(dims).boxed().skip(1)).toList();
    Set<Long> names = new LinkedHashSet<>(others);
    names.removeIf(name -> name >= UNNAMED);
    names.removeAll(leading());
    for (long sum : names.size() > 2 && names.size() <= MOST_NAMES ? names : Set.<Long>of()) {
      choices.add(with(given, Batches.LEADING, needed, name -> name == sum ? 2 : 1));
    }
    for (Batches batches : Batches.values()) {
      for (int size : sizes) {
        choices.add(with(given, batches, needed, name -> size));
      }
    }
    return choices;
  }

  /** The most frequent numbers of constants that may be shapes, or dimensions of some. */
  private static int[] written(OnnxGraph graph) {
    Map<Long, Integer> counts = new TreeMap<>();
    Stream<OnnxTensor> ofNodes =
        graph.nodes().stream()
            .filter(node -> node.type().equals("Constant"))
            .flatMap(node -> node.attributes().values().stream())
            .map(OnnxAttribute::tensor)
            .filter(Objects::nonNull);
    Stream.concat(graph.constants().values().stream(), ofNodes)
        .filter(tensor -> tensor.type() == DataType.INT64.code() && isSmall(tensor.dims()))
        .forEach(
            tensor -> {
              try {
                for (long value : Tensors.of(tensor, new Budget(0)).integers()) {
                  if (value > 1 && value <= LARGEST) {
                    counts.merge(value, 1, Integer::sum);
                  }
                }
              } catch (Refusal e) {
                // Damaged; the operator that reads it says so.
              }
            });
    return counts.keySet().stream()
        .sorted(Comparator.comparing(counts::get, Comparator.reverseOrder()))
        .limit(MOST_WRITTEN)
        .mapToInt(Long::intValue)
        .toArray();
  }

  private static boolean isSmall(long... dims) {
    return dims.length == 0 || dims.length == 1 && dims[0] > 0 && dims[0] <= MOST_DIMENSIONS;
  }

  /** The names of leading dimensions. */
  private Set<Long> leading() {
    Set<Long> names = new HashSet<>();
    open.values().forEach(dims -> names.add(dims[0]));
    names.remove(UNNAMED);
    return names;
  }

  private Map<String, Shape> with(
      Map<String, Shape> given,
      Batches batches,
      NeededSizes.Choice needed,
      LongToIntFunction sizeOf) {
    Set<Long> names = leading();
    Map<String, Shape> shapes = new HashMap<>(given);
    open.forEach(
        (name, dims) -> {
          boolean isLonely = Arrays.stream(dims).filter(dim -> dim < 0).count() == 1;
          int[] sizes = new int[dims.length];
          for (int i = 0; i < sizes.length; i++) {
            boolean isBatch =
                batches != Batches.NONE
                    && (i == 0 || names.contains(dims[i]) || batches == Batches.LONELY && isLonely);
            int size = isBatch ? 1 : sizeOf.applyAsInt(dims[i]);
            sizes[i] = dims[i] >= 0 ? (int) dims[i] : needed.of(name, i, size);
          }
          shapes.putIfAbsent(name, Shape.of(sizes));
        });
    return shapes;
  }

  /** Returns their dimensions by index among the inputs of the model, 0 for an open one. */
  public Map<Integer, Shape> of(Model model) {
    Map<Integer, Shape> found = new HashMap<>();
    List<Integer> inputs = model.main().inputIndexes();
    for (int i = 0; i < inputs.size(); i++) {
      long[] dims = open.get(model.main().input(i).name());
      if (dims != null) {
        found.put(
            i, Shape.of(Arrays.stream(dims).mapToInt(size -> (int) Math.max(0, size)).toArray()));
      }
    }
    return found;
  }
}
