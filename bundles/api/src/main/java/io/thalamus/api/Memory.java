// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Memory for declared inputs and outputs of compilations, in which state can stay on a device from
 * one execution to the next. Thread-safe: executions that read it run together, one that writes it
 * runs alone, and others wait for it. Owned by the application that made it; it outlives the
 * compilations of its roles, and follows their plans when devices come and go.
 *
 * <p>It holds nothing until it is copied to, or an execution that writes it succeeds; it holds
 * nothing any more after such an execution, or a copy, has failed. If the only copy of its contents
 * was lost with a device, every access ends with DEAD_OBJECT until the memory is written anew.
 *
 * <p>A copy waits for executions that use the memory, as long as one of them ends now and then. It
 * ends with MISSED_DEADLINE_TRANSIENT, and changes nothing, if none has ended for half a minute.
 */
@ProviderType
public interface Memory extends AutoCloseable {
  /** Returns the name for people. */
  String name();

  /** Copies contents in that have the dimensions that the memory knows. */
  default void copyFrom(MemorySegment source) throws NeuralNetworksException {
    copyFrom(source, Shape.NONE);
  }

  /**
   * Copies contents in, and waits for executions that use the memory.
   *
   * @param shape the dimensions of the contents, if the memory does not know them
   * @throws NeuralNetworksException with BAD_DATA if size or dimensions do not fit
   */
  void copyFrom(MemorySegment source, Shape shape) throws NeuralNetworksException;

  /**
   * Copies the contents of another memory, wherever they are. A copy from itself does nothing.
   *
   * @throws NeuralNetworksException with BAD_DATA if the other one holds nothing or contents of
   *     another type, DEAD_OBJECT if its contents are lost
   */
  void copyFrom(Memory source) throws NeuralNetworksException;

  /**
   * Copies the contents out, and waits for executions that write the memory.
   *
   * @throws NeuralNetworksException with BAD_DATA if it holds nothing or the sizes differ,
   *     DEAD_OBJECT if the contents are lost
   */
  void copyTo(MemorySegment destination) throws NeuralNetworksException;

  /**
   * Writes the contents to a file that only the user can read, for another process or a later time.
   * The file appears whole, in the place of an earlier one, or not at all.
   *
   * @throws NeuralNetworksException with BAD_DATA if the memory holds nothing, DEAD_OBJECT if the
   *     contents are lost, OP_FAILED if the file cannot be written
   */
  void save(Path file) throws NeuralNetworksException;

  /**
   * Copies contents in that {@link #save} has written, by this user and to a memory of the same
   * type and quantization. Changes nothing if it fails.
   *
   * @throws NeuralNetworksException with BAD_DATA if a bit of the file is another, if it was not
   *     written with the key of this user, or if its contents do not fit; OP_FAILED if it cannot be
   *     read
   */
  void restore(Path file) throws NeuralNetworksException;

  /** Returns what it is, where its contents are, and whether there are any. */
  MemoryInfo describe();

  /** Frees it, once the executions that use it are over. Calling it again does nothing. */
  @Override
  void close();
}
