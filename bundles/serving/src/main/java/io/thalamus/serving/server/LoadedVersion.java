// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Inference;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.api.Tensor;
import io.thalamus.memory.Variants;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.serving.InferenceRequest.Input;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.TensorMetadata;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A file that was read and compiled, for the dimensions that it was read with and, on demand, for
 * others. Thread-safe. It is closed by the last one that lets go of it: requests, and whoever
 * serves it.
 */
final class LoadedVersion {
  private final LoadedModel loaded;
  private final Compilation compilation;
  private final Signature signature;
  private final String digest;
  private final Optional<Joiner> joiner;
  private final Variants<Map<String, Shape>, LoadedVersion, ServingException> shaped;
  private final CompletableFuture<Void> closed = new CompletableFuture<>();

  /** The requests that use it, and one more until it is replaced. */
  private int users = 1;

  private LoadedVersion(
      LoadedModel loaded,
      Compilation compilation,
      Signature signature,
      Optional<Joiner> joiner,
      Variants<Map<String, Shape>, LoadedVersion, ServingException> shaped) {
    this.joiner = joiner;
    this.shaped = shaped;
    this.loaded = loaded;
    this.compilation = compilation;
    this.signature = signature;
    this.digest = HexFormat.of().formatHex(loaded.digest());
  }

  /**
   * Reads, compiles and warms a file.
   *
   * @param states the names of outputs to the names of inputs that they become
   * @param joins how its requests are joined; empty if they are not
   * @throws NeuralNetworksException if the runtime cannot
   * @throws ServingException if the protocol cannot speak of its tensors
   */
  static LoadedVersion load(
      NeuralNetworks networks,
      Path file,
      CompilationOptions options,
      Map<String, String> states,
      Optional<Joiner.Terms> joins)
      throws NeuralNetworksException, ServingException {
    return compile(
        networks,
        file.toString(),
        networks.load(file),
        options,
        loaded -> new Signature(loaded.file(), OpenShapes.of(loaded, states), states),
        joins);
  }

  /** The signature of a model that was read. */
  @FunctionalInterface
  private interface Signing {
    Signature of(LoadedModel loaded) throws ServingException;
  }

  /** Compiles and warms a model, which it closes if that fails. */
  private static LoadedVersion compile(
      NeuralNetworks networks,
      String file,
      LoadedModel loaded,
      CompilationOptions options,
      Signing signing,
      Optional<Joiner.Terms> joins)
      throws NeuralNetworksException, ServingException {
    Compilation compilation = null;
    Variants<Map<String, Shape>, LoadedVersion, ServingException> shaped = null;
    boolean isDone = false;
    try {
      Signature signature = signing.of(loaded);
      compilation = networks.compile(loaded.model(), options);
      warm(compilation);
      shaped =
          new Variants<>(
              shapes -> shaped(networks, file, loaded, shapes, options, signature),
              other -> other.compilation.ownBytes(),
              LoadedVersion::release);
      Optional<Joiner> joiner = Optional.empty();
      if (joins.isPresent()) {
        Joiner.Batches batches = batches(loaded, compilation, signature, shaped, joins.get());
        joiner = Optional.of(Joiner.of(batches, signature, joins.get()));
      }
      isDone = true;
      return new LoadedVersion(loaded, compilation, signature, joiner, shaped);
    } finally {
      if (!isDone) {
        if (shaped != null) {
          shaped.close();
        }
        if (compilation != null) {
          compilation.close();
        }
        loaded.close();
      }
    }
  }

  /** Reads, compiles and warms a model for other dimensions. */
  private static LoadedVersion shaped(
      NeuralNetworks networks,
      String file,
      LoadedModel loaded,
      Map<String, Shape> shapes,
      CompilationOptions options,
      Signature signature)
      throws ServingException {
    try {
      LoadedModel other = loaded.with(loaded.options().withShapes(shapes));
      Signing signing = read -> signature.of(read.model().main());
      return compile(networks, file, other, options, signing, Optional.empty());
    } catch (NeuralNetworksException e) {
      // Clients do not see the path of the file.
      String why = e.getMessage().replace(file + ": ", "");
      throw Codes.of(
          "the model cannot take these dimensions: ",
          new NeuralNetworksException(e.code(), why, e.retryAfter(), e));
    }
  }

  /** Returns the compilations for rows: one for all, or one for each batch that the file gives. */
  private static Joiner.Batches batches(
      LoadedModel loaded,
      Compilation compilation,
      Signature signature,
      Variants<Map<String, Shape>, LoadedVersion, ServingException> shaped,
      Joiner.Terms terms) {
    return rows -> {
      if (loaded.file().openInputs().isEmpty()) {
        return new Joiner.Batch(compilation, rows, () -> {});
      }
      int all = Joiner.batchRows(rows, terms);
      List<Shape> batch =
          signature.inputs().stream().map(tensor -> Joiner.shape(tensor, all)).toList();
      Map<String, Shape> shapes = loaded.file().shapesFor(batch);
      if (shapes.isEmpty()) {
        return new Joiner.Batch(compilation, all, () -> {});
      }
      Variants.Use<LoadedVersion> used = shaped.use(shapes);
      return new Joiner.Batch(used.value().compilation, all, used.end());
    };
  }

  /** Executes once on zeros, with 1 for open dimensions. */
  private static void warm(Compilation compilation) throws NeuralNetworksException {
    boolean isFixed = true;
    List<Tensor> inputs = new ArrayList<>();
    for (int index : compilation.model().main().inputIndexes()) {
      Operand input = compilation.model().main().operands().get(index);
      isFixed &= input.isSizeKnown();
      inputs.add(Tensor.allocate(input, closed(input)));
    }
    try {
      new Inference(compilation).run(inputs);
    } catch (NeuralNetworksException e) {
      // Not every model takes 1 for what it leaves open: BAD_DATA says nothing about the version.
      if (isFixed || e.code() != ResultCode.BAD_DATA) {
        throw new NeuralNetworksException(
            e.code(), "the warm-up failed: " + e.getMessage(), e.retryAfter(), e);
      }
    }
  }

  private static Shape closed(Operand operand) {
    int[] dimensions = operand.shape().toArray();
    if (dimensions.length == 0 && operand.type().isTensor()) {
      return Shape.of(1);
    }
    return Shape.of(Arrays.stream(dimensions).map(each -> Math.max(1, each)).toArray());
  }

  Compilation compilation() {
    return compilation;
  }

  /** Returns the dimensions for which inputs need a version of their own; empty if none. */
  Map<String, Shape> otherShapes(Input[] inputs) {
    if (loaded.file().openInputs().isEmpty() || !signature.states().isEmpty()) {
      return Map.of();
    }
    return loaded.file().shapesFor(Arrays.stream(inputs).map(Signature::shape).toList());
  }

  /** Returns what serves such dimensions. */
  Variants<Map<String, Shape>, LoadedVersion, ServingException> shaped() {
    return shaped;
  }

  /** Returns the joiner of its requests, if they are to be joined. */
  Optional<Joiner> joiner() {
    return joiner;
  }

  Signature signature() {
    return signature;
  }

  /**
   * Returns the inputs as clients see them. A TensorFlow Lite file states a size even for a
   * dimension that it leaves open, and its own engines tell that one.
   */
  List<TensorMetadata> inputs() {
    return isTensorFlowLite() ? signature.inputsAsRead() : signature.inputs();
  }

  /** Returns the outputs as clients see them. */
  List<TensorMetadata> outputs() {
    return isTensorFlowLite() ? signature.outputsAsRead() : signature.outputs();
  }

  private boolean isTensorFlowLite() {
    return loaded.file().format().equals("TensorFlow Lite");
  }

  /** Returns the SHA-256 of the file, in hexadecimal digits. */
  String digest() {
    return digest;
  }

  /** Returns the name of the format, as Triton's platforms are named. */
  String platform() {
    return isTensorFlowLite() ? "tensorflow_lite" : loaded.file().format().toLowerCase(Locale.ROOT);
  }

  /** Uses it for a request; false if it is closed, or about to be. */
  synchronized boolean acquire() {
    if (users == 0) {
      return false;
    }
    users++;
    return true;
  }

  /** Has an action run once it is closed. */
  void onClosed(Runnable action) {
    closed.thenRun(action);
  }

  /** Returns true once it is closed. */
  boolean isClosed() {
    return closed.isDone();
  }

  /** Lets go of it. The last one has it closed, in a thread of its own. */
  void release() {
    boolean isLast;
    synchronized (this) {
      isLast = --users == 0;
    }
    if (isLast) {
      // The last one may be a thread of the runtime that answers a request.
      Thread.ofVirtual().name("thalamus-serving-close").start(this::close);
    }
  }

  private void close() {
    try {
      shaped.close();
      compilation.close();
      loaded.close();
    } finally {
      closed.complete(null);
    }
  }
}
