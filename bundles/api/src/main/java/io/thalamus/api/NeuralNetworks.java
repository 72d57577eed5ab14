// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Model;
import io.thalamus.model.reader.ReadOptions;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The entrance. An OSGi service of scope BUNDLE: the bundle that asks for it is the application
 * whose priorities are compared, and what it opened here ends with it. Thread-safe.
 */
@ProviderType
public interface NeuralNetworks {
  /**
   * The devices that are here now, in the order of their arrival; the CPU device is the last. Those
   * that have left, but hold a thread for ever, come after it.
   */
  List<DeviceDescription> devices();

  /**
   * Reads a model file with the reader that knows its format.
   *
   * @throws NeuralNetworksException with BAD_DATA where the file is damaged or of no known format,
   *     UNMAPPABLE where it cannot be opened
   */
  default LoadedModel load(Path file) throws NeuralNetworksException {
    return load(file, ReadOptions.DEFAULT);
  }

  /**
   * Reads a model file, as above, with dimensions of inputs that it leaves open, or from another
   * entry point than the usual one.
   *
   * @throws NeuralNetworksException as above, and with BAD_DATA where the file leaves no such
   *     choice
   */
  LoadedModel load(Path file, ReadOptions options) throws NeuralNetworksException;

  /**
   * Reads a model from memory, for example out of a database; the bytes are copied.
   *
   * @param name the name that a file would have; readers may know a format by its end
   * @throws NeuralNetworksException with BAD_DATA if the bytes are damaged or of no known format,
   *     UNMAPPABLE or RESOURCE_EXHAUSTED_TRANSIENT if there is no memory for them
   */
  default LoadedModel load(String name, MemorySegment bytes) throws NeuralNetworksException {
    return load(name, bytes, ReadOptions.DEFAULT);
  }

  /**
   * Reads a model from memory, as above, with the choices that it leaves open.
   *
   * @throws NeuralNetworksException as above, and with BAD_DATA where it leaves no such choice
   */
  LoadedModel load(String name, MemorySegment bytes, ReadOptions options)
      throws NeuralNetworksException;

  /**
   * Reads a model from a stream to its end, as above, for example a resource of a jar. The stream
   * stays open.
   *
   * @throws IOException if the stream fails
   */
  default LoadedModel load(String name, InputStream stream)
      throws IOException, NeuralNetworksException {
    return load(name, MemorySegment.ofArray(stream.readAllBytes()));
  }

  /**
   * Returns the operations of the main graph that at least one of the devices executes, by index.
   * The NDK's getSupportedOperationsForDevices; unlike {@link #plan} it is no error where none
   * does.
   *
   * @param devices ids or names; empty for all
   * @throws NeuralNetworksException with BAD_DATA where the model is invalid or a device is not
   *     here
   */
  BitSet supportedOperations(Model model, List<String> devices) throws NeuralNetworksException;

  /** The names of the partition policies that are here, sorted. */
  List<String> policies();

  /**
   * Says which operation would go where, without preparing anything.
   *
   * @throws NeuralNetworksException with BAD_DATA where the model is invalid, no policy of the name
   *     asked for is here, or no device supports one of the operations
   */
  Plan plan(Model model, CompilationOptions options) throws NeuralNetworksException;

  /**
   * Times the operations of a model on each device, one by one and as far together as the device
   * takes them, and keeps the times for predictions and for policies that go by them. Inputs are
   * random. Takes as long as it is given, or longer where a few executions need that.
   *
   * @param patience for all of it
   * @return the plan for these options with what was measured
   * @throws NeuralNetworksException as {@link #plan}, where an input has open dimensions, or with
   *     what the devices say; with OP_FAILED where the calling thread is interrupted, which stays
   *     so
   */
  Plan measure(Model model, CompilationOptions options, Duration patience)
      throws NeuralNetworksException;

  /**
   * Prepares a model on the devices that suit it best. The model's pools must stay open as long as
   * the compilation is.
   *
   * @throws NeuralNetworksException with BAD_DATA where the model is invalid or an option is, or no
   *     device supports one of its operations; otherwise with what the devices say
   */
  Compilation compile(Model model, CompilationOptions options) throws NeuralNetworksException;

  /**
   * Makes a memory for declared inputs and outputs. It stands on the device where all of its roles
   * lead to one that has memory of its own, else in shared memory.
   *
   * @throws NeuralNetworksException with BAD_DATA where the description contradicts itself or its
   *     compilations, OP_FAILED where no device has room and shared memory will not do: a size is
   *     not known, or a compilation named its devices
   */
  Memory createMemory(MemoryDesc desc) throws NeuralNetworksException;

  /** The memories of all applications, in the order in which they were made. */
  List<MemoryInfo> memories();
}
