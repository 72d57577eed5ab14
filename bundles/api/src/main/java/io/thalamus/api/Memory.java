// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Shape;
import java.lang.foreign.MemorySegment;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Memory for declared inputs and outputs of compilations, in which state can stay on a device from
 * one execution to the next. Thread-safe: executions that read it run together, one that writes it
 * runs alone, and whoever comes meanwhile waits. Owned by the application that made it; it outlives
 * the compilations of its roles, and follows their plans when devices come and go.
 *
 * <p>It holds nothing until it is copied to, or an execution that writes it succeeds; it holds
 * nothing any more after such an execution, or a copy, has failed. Where the only copy of its
 * contents died with a device, what needs them ends with DEAD_OBJECT until it is written anew.
 *
 * <p>A copy waits for executions that use the memory, as long as one of them ends now and then. It
 * ends with MISSED_DEADLINE_TRANSIENT, and changes nothing, if none has ended for half a minute.
 */
@ProviderType
public interface Memory extends AutoCloseable {
  /** Returns the name for people. */
  String name();

  /** Copies contents of the dimensions that are known in. */
  default void copyFrom(MemorySegment source) throws NeuralNetworksException {
    copyFrom(source, Shape.NONE);
  }

  /**
   * Copies contents in, and waits for executions that use the memory.
   *
   * @param shape the dimensions of the contents, where the memory does not know them
   * @throws NeuralNetworksException with BAD_DATA where size or dimensions do not fit
   */
  void copyFrom(MemorySegment source, Shape shape) throws NeuralNetworksException;

  /**
   * Copies the contents of another memory, wherever they are. From itself: nothing to do.
   *
   * @throws NeuralNetworksException with BAD_DATA where the other one holds nothing or something
   *     else, DEAD_OBJECT where its contents died
   */
  void copyFrom(Memory source) throws NeuralNetworksException;

  /**
   * Copies the contents out, and waits for executions that write the memory.
   *
   * @throws NeuralNetworksException with BAD_DATA where it holds nothing or the sizes differ,
   *     DEAD_OBJECT where the contents died
   */
  void copyTo(MemorySegment destination) throws NeuralNetworksException;

  /** What it is, where its contents are, and whether there are any. */
  MemoryInfo describe();

  /** Gives it back, once the executions that use it are over. Calling it again does nothing. */
  @Override
  void close();
}
