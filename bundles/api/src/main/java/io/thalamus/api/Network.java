// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.api.picture.Picture;
import io.thalamus.memory.Variants;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.Subgraph;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ReadOptions;
import java.awt.image.BufferedImage;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A model that is loaded and compiled: one handle for both. It outlives the devices it was prepared
 * on. Thread-safe; owned by its opener, and closed before what it was opened from. Each answer's
 * tensors are the caller's, and may be read after {@link #close}.
 *
 * <p>All failures of {@code run} are a {@link NeuralNetworksException}: BAD_DATA if an argument is
 * missing or does not fit, with a message that names the input; else what the execution ended with.
 *
 * <p>If the file leaves dimensions of inputs open, {@code run} takes inputs of any that fit them.
 * The model is then read and compiled for these dimensions too: the first run takes longer. The
 * latest eight such compilations are kept, and more as long as they are small beside what they
 * share: {@link Compilation#ownBytes}. A dimension may also be 0 where the format has a meaning for
 * it, as in what a decoder has seen before its first step: {@link Tensor#allocate} makes such a
 * tensor.
 *
 * <p>An input that is a state and begins with a value of the file ({@link ModelFile#firstValue})
 * may be left out, and then has that value.
 */
public final class Network implements AutoCloseable {
  private final LoadedModel loaded;
  private final Compilation compilation;
  private final Variants<Map<String, Shape>, Network, NeuralNetworksException> others;

  private Network(
      NeuralNetworks networks,
      LoadedModel loaded,
      CompilationOptions options,
      Compilation compilation) {
    this.loaded = loaded;
    this.compilation = compilation;
    this.others =
        new Variants<>(
            shapes -> variant(networks, loaded, options, shapes),
            other -> other.compilation.ownBytes(),
            Network::close);
  }

  /**
   * Loads a model file and compiles it.
   *
   * @throws NeuralNetworksException as {@link NeuralNetworks#load(Path)} and {@link
   *     NeuralNetworks#compile}
   */
  public static Network open(NeuralNetworks networks, Path file, CompilationOptions options)
      throws NeuralNetworksException {
    return open(networks, networks.load(file), options);
  }

  /**
   * Loads a model file with the choices that it leaves open, and compiles it.
   *
   * @param choices dimensions of inputs, and the entry point
   * @throws NeuralNetworksException as {@link NeuralNetworks#load(Path, ReadOptions)} and {@link
   *     NeuralNetworks#compile}
   */
  public static Network open(
      NeuralNetworks networks, Path file, ReadOptions choices, CompilationOptions options)
      throws NeuralNetworksException {
    return open(networks, networks.load(file, choices), options);
  }

  /**
   * Compiles a loaded model, which the network then owns; it is closed if that fails.
   *
   * @throws NeuralNetworksException as {@link NeuralNetworks#compile}
   */
  public static Network open(
      NeuralNetworks networks, LoadedModel loaded, CompilationOptions options)
      throws NeuralNetworksException {
    Compilation compilation = null;
    try {
      compilation = networks.compile(loaded.model(), options);
      return new Network(networks, loaded, options, compilation);
    } finally {
      if (compilation == null) {
        loaded.close();
      }
    }
  }

  /** Opens the model for other dimensions; a token of a stored compilation stands for them too. */
  private static Network variant(
      NeuralNetworks networks,
      LoadedModel loaded,
      CompilationOptions options,
      Map<String, Shape> shapes)
      throws NeuralNetworksException {
    LoadedModel model = loaded.with(loaded.options().withShapes(shapes));
    Optional<CacheOptions> cache = options.caching();
    CompilationOptions own =
        cache.isEmpty()
            ? options
            : options.with(
                new CacheOptions(cache.get().directory(), model.token(), cache.get().label()));
    return open(networks, model, own);
  }

  /** Returns the model, and what its file says of it; owned by this network. */
  public LoadedModel model() {
    return loaded;
  }

  /** Returns the compilation, for its plan, bursts and executions; owned by this network. */
  public Compilation compilation() {
    return compilation;
  }

  /**
   * Returns the inputs in their order, for {@link Tensor#of}, as they are compiled. Those with open
   * dimensions are in {@link LoadedModel#file}.
   */
  public List<Operand> inputs() {
    Subgraph main = loaded.model().main();
    return IntStream.range(0, main.inputIndexes().size()).mapToObj(main::input).toList();
  }

  /** Returns the outputs in their order. */
  public List<Operand> outputs() {
    Subgraph main = loaded.model().main();
    return IntStream.range(0, main.outputIndexes().size()).mapToObj(main::output).toList();
  }

  /** Executes with one tensor for each input; the last ones may be states that are left out. */
  public Answer run(Tensor... inputs) throws NeuralNetworksException {
    int count = loaded.model().main().inputIndexes().size();
    if (inputs.length < count && inputs.length >= loaded.file().neededInputs()) {
      Tensor[] all = Arrays.copyOf(inputs, count);
      for (int i = inputs.length; i < all.length; i++) {
        all[i] = firstValue(i).orElseThrow();
      }
      return run(all);
    }
    Map<String, Shape> shapes = otherShapes(Arrays.asList(inputs));
    if (shapes.isEmpty()) {
      return labelled(compilation.run(inputs));
    }
    try (Variants.Use<Network> other = others.use(shapes)) {
      boolean isFull = other.value().inputs().size() == inputs.length;
      Stream<Tensor> all = Arrays.stream(inputs).filter(each -> isFull || each.count() > 0);
      return labelled(other.value().compilation.run(all.toArray(Tensor[]::new)));
    }
  }

  /** Executes with tensors by the names of the inputs. */
  public Answer run(Map<String, Tensor> given) throws NeuralNetworksException {
    List<Operand> operands = inputs();
    Map<String, Tensor> inputs = given;
    for (int i = 0; i < operands.size(); i++) {
      String name = operands.get(i).name();
      Optional<Tensor> first = inputs.containsKey(name) ? Optional.empty() : firstValue(i);
      if (first.isPresent()) {
        inputs = new HashMap<>(inputs);
        inputs.put(name, first.get());
      }
    }
    return runAll(operands, inputs);
  }

  private Answer runAll(List<Operand> operands, Map<String, Tensor> inputs)
      throws NeuralNetworksException {
    Map<String, Shape> shapes = Map.of();
    if (operands.stream().allMatch(operand -> inputs.get(operand.name()) != null)) {
      shapes = otherShapes(operands.stream().map(operand -> inputs.get(operand.name())).toList());
    }
    if (shapes.isEmpty()) {
      return labelled(compilation.run(inputs));
    }
    try (Variants.Use<Network> other = others.use(shapes)) {
      Map<String, Tensor> taken = new HashMap<>(inputs);
      taken.entrySet().removeIf(each -> each.getValue().count() == 0);
      for (Operand input : other.value().inputs()) {
        taken.put(input.name(), inputs.get(input.name()));
      }
      return labelled(other.value().compilation.run(taken));
    }
  }

  /** Returns the dimensions for which the model is to be read again; empty if it takes these. */
  private Map<String, Shape> otherShapes(List<Tensor> inputs) {
    // An input that is missing is refused by the execution, which names it.
    return loaded.file().openInputs().isEmpty() || inputs.stream().anyMatch(Objects::isNull)
        ? Map.of()
        : loaded.file().shapesForValues(inputs.stream().map(Tensor::shape).toList());
  }

  /** Executes with real numbers, one array for each input; a quantized input stores integers. */
  public Answer run(float[]... inputs) throws NeuralNetworksException {
    List<Operand> operands = inputs();
    Tensor[] tensors = new Tensor[inputs.length];
    for (int i = 0; i < tensors.length; i++) {
      if (inputs[i] == null) {
        // Refused by run.
        continue;
      }
      // What has no operand is refused by run, as a missing one is.
      tensors[i] =
          i < operands.size()
              ? Tensor.lent(sized(i, inputs[i].length), inputs[i])
              : Tensor.floats(inputs[i], inputs[i].length);
    }
    return run(tensors);
  }

  /** Executes with a picture, which is resized and normalized as the only input wants it. */
  public Answer run(BufferedImage picture) throws NeuralNetworksException {
    List<Operand> operands = inputs();
    if (operands.isEmpty() || operands.size() > 1 && loaded.file().neededInputs() != 1) {
      throw NeuralNetworksException.badData(
          "the model has " + operands.size() + " inputs; make a tensor of the picture for one");
    }
    if (picture == null) {
      throw Inference.missing(operands.getFirst());
    }
    Picture shown = Picture.of(picture);
    Operand wanted = shown.sized(operands.getFirst(), loaded.file().input(0));
    return run(shown.tensor(wanted, loaded.file().normalization(0)));
  }

  /**
   * Returns a copy of the value with which a state begins; empty for an input that is none.
   *
   * @param index of the input
   */
  public Optional<Tensor> firstValue(int index) throws NeuralNetworksException {
    Optional<Lifetime.Constant> value = loaded.file().firstValue(index);
    return value.isEmpty()
        ? Optional.empty()
        : Optional.of(
            Tensor.of(inputs().get(index), value.get().bytes().toArray(ValueLayout.JAVA_BYTE)));
  }

  /** Returns an input as it is compiled if it has so many elements; else with open dimensions. */
  private Operand sized(int index, int elements) {
    Operand input = loaded.model().main().input(index);
    boolean fits = !input.isSizeKnown() || input.shape().elementCount() == elements;
    Operand open = loaded.file().input(index);
    long unknown = Arrays.stream(open.shape().toArray()).filter(size -> size == 0).count();
    return fits || unknown != 1 ? input : open;
  }

  private Answer labelled(Answer answer) {
    List<String> labels = loaded.file().labels();
    return new Answer(answer.outputs(), answer.report(), labels);
  }

  /** Closes the compilations, as {@link Compilation#close}, and then the model. */
  @Override
  public void close() {
    others.close();
    compilation.close();
    loaded.close();
  }
}
