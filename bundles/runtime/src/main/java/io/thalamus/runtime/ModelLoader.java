// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime;

import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.cache.CacheEngine;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/** The loader of model files, with the readers that are installed. Thread-safe. */
@Component(service = ModelLoader.class)
public final class ModelLoader {
  private static final int HEAD = 64;
  private static final String TOKEN = "token of a model";

  private final List<ModelReader> readers = new CopyOnWriteArrayList<>();

  /** Gives models their tokens; null without one. */
  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  private volatile CacheEngine engine;

  /** Creates a loader without readers. */
  @Activate
  public ModelLoader() {
    this(null);
  }

  /**
   * Creates a loader of models with tokens of an engine.
   *
   * @param engine null for none
   */
  public ModelLoader(CacheEngine engine) {
    this.engine = engine;
  }

  /** Adds a reader. */
  @Reference(
      cardinality = ReferenceCardinality.MULTIPLE,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  public void addReader(ModelReader reader) {
    readers.add(reader);
  }

  /** Removes a reader. */
  public void removeReader(ModelReader reader) {
    readers.remove(reader);
  }

  /**
   * Reads a file; see {@code NeuralNetworks.load}.
   *
   * @param open holds the model as long as it is open
   */
  public LoadedModel load(Path path, ReadOptions options, Collection<LoadedModel> open)
      throws NeuralNetworksException {
    return load(path, readBytes(path), CompanionFiles.beside(path), options, open);
  }

  /**
   * Reads a model from memory; see {@code NeuralNetworks.load}.
   *
   * @param open holds the model as long as it is open
   */
  public LoadedModel load(
      String name, MemorySegment bytes, ReadOptions options, Collection<LoadedModel> open)
      throws NeuralNetworksException {
    if (bytes.byteSize() == 0) {
      throw NeuralNetworksException.badData(name + " is empty");
    }
    SharedMemory memory;
    try {
      memory = SharedMemory.copyOf(bytes);
    } catch (SharedMemoryException e) {
      throw exhausted(name, e);
    }
    return load(Path.of(name), memory, CompanionFiles.none(), options, open);
  }

  private static NeuralNetworksException exhausted(String name, SharedMemoryException e) {
    ResultCode code =
        e instanceof SharedMemoryException.Exhausted
            ? ResultCode.RESOURCE_EXHAUSTED_TRANSIENT
            : ResultCode.UNMAPPABLE;
    return new NeuralNetworksException(code, name + ": " + e.getMessage(), e);
  }

  private LoadedModel load(
      Path path,
      SharedMemory memory,
      CompanionFiles companions,
      ReadOptions options,
      Collection<LoadedModel> open)
      throws NeuralNetworksException {
    ModelBytes bytes = null;
    try {
      bytes = new ModelBytes(path, reader(path, memory), memory, companions, this::code);
      return read(bytes, options, open);
    } finally {
      if (bytes == null) {
        memory.close();
      } else {
        bytes.models().close();
      }
    }
  }

  /**
   * Reads a model of bytes.
   *
   * @param open holds the model as long as it is open
   * @throws IllegalStateException if the bytes are freed
   */
  static LoadedModel read(ModelBytes bytes, ReadOptions options, Collection<LoadedModel> open)
      throws NeuralNetworksException {
    if (!bytes.models().retainUnlessFreed()) {
      throw new IllegalStateException("the model is closed");
    }
    LoadedModel model = null;
    try {
      ModelFile file = read(bytes, options);
      model = new LoadedModelImpl(bytes, options, file, open);
      return model;
    } finally {
      if (model == null) {
        bytes.models().release();
      }
    }
  }

  private static SharedMemory readBytes(Path path) throws NeuralNetworksException {
    if (Files.isDirectory(path)) {
      throw new NeuralNetworksException(
          ResultCode.UNMAPPABLE, path + " is a directory, not a model file");
    }
    if (!Files.exists(path)) {
      throw new NeuralNetworksException(ResultCode.UNMAPPABLE, "there is no file " + path);
    }
    if (!Files.isRegularFile(path)) {
      throw new NeuralNetworksException(
          ResultCode.UNMAPPABLE,
          path + " is a pipe or a device, not a model file; copy what comes out of it into one");
    }
    if (!Files.isReadable(path)) {
      throw new NeuralNetworksException(ResultCode.UNMAPPABLE, path + " may not be read");
    }
    if (path.toFile().length() == 0) {
      throw NeuralNetworksException.badData(path + " is empty");
    }
    try {
      // A mapping would change with the file, under the graph that was read from it.
      return SharedMemory.read(path);
    } catch (SharedMemoryException.Exhausted e) {
      throw new NeuralNetworksException(
          ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, path + ": " + e.getMessage(), e);
    } catch (SharedMemoryException e) {
      throw new NeuralNetworksException(ResultCode.UNMAPPABLE, e.getMessage(), e);
    }
  }

  private ModelReader reader(Path path, SharedMemory memory) throws NeuralNetworksException {
    MemorySegment head = memory.segment().asSlice(0, Math.min(HEAD, memory.size()));
    String name = String.valueOf(path.getFileName());
    // A name may say the wrong format; it decides where the contents say none.
    for (String seen : List.of("", name)) {
      for (ModelReader reader : readers) {
        if (reader.accepts(seen, head)) {
          return reader;
        }
      }
    }
    if (readers.isEmpty()) {
      throw NeuralNetworksException.badData(
          "no reader of model files is here: install one, for example tflite");
    }
    String known = readers.stream().map(ModelReader::format).collect(Collectors.joining(", "));
    throw NeuralNetworksException.badData(
        path + " is not a model of a known format (known: " + known + ")");
  }

  private byte[] code(MemorySegment bytes) {
    CacheEngine present = engine;
    try {
      return present == null ? Digests.sha256(bytes) : present.authenticate(TOKEN, bytes);
    } catch (IOException e) {
      // The engine cannot vouch for a compilation either.
      return Digests.sha256(bytes);
    }
  }

  private static ModelFile read(ModelBytes bytes, ReadOptions options)
      throws NeuralNetworksException {
    Path path = bytes.path();
    try {
      return bytes.reader().read(bytes.memory(), options, bytes.companions());
    } catch (ModelFormatException e) {
      throw new NeuralNetworksException(ResultCode.BAD_DATA, path + ": " + e.getMessage(), e);
    } catch (IndexOutOfBoundsException | IllegalArgumentException | ArithmeticException e) {
      // A reader that trusts an offset of a damaged file runs into this.
      throw new NeuralNetworksException(
          ResultCode.BAD_DATA, path + " is damaged: " + e.getMessage(), e);
    }
  }
}
