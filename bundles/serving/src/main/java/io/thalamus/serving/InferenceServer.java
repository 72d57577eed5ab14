// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import io.thalamus.api.Compilation;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.osgi.annotation.versioning.ProviderType;

/**
 * The models of a server. An OSGi service, thread-safe. A version that is empty means the newest
 * one that is ready; NOT_FOUND says that there is no such model or version, UNAVAILABLE that it is
 * not ready.
 */
@ProviderType
public interface InferenceServer {
  /** Returns true until the process ends. */
  boolean isLive();

  /** Returns true if every wanted model has answered its warm-up and the server does not drain. */
  boolean isReady();

  /**
   * Returns true if the version answers.
   *
   * @throws ServingException with NOT_FOUND
   */
  boolean isReady(String model, Optional<String> version) throws ServingException;

  /** Returns what the server says of itself. */
  ServerMetadata metadata();

  /**
   * Returns what a version says of itself.
   *
   * @throws ServingException with NOT_FOUND or UNAVAILABLE
   */
  ModelMetadata metadata(String model, Optional<String> version) throws ServingException;

  /**
   * Returns the compilation of a version, whose model and plan may be looked at. It may be closed
   * at any time, and belongs to the server.
   *
   * @throws ServingException with NOT_FOUND or UNAVAILABLE
   */
  Compilation compilation(String model, Optional<String> version) throws ServingException;

  /** Starts a request. Does not block; whatever is wrong is in the completion. */
  PendingInference infer(InferenceRequest request);

  /**
   * Answers a request whose sender waits. What is known to be quick may be computed in the calling
   * thread, which saves two hand-overs to others.
   *
   * @param begun gets the request before it is computed, so that it can be cancelled meanwhile
   * @throws ServingException what is wrong
   */
  default InferenceResponse answer(InferenceRequest request, Consumer<PendingInference> begun)
      throws ServingException {
    PendingInference pending = infer(request);
    begun.accept(pending);
    return pending.await();
  }

  /** Opens a stream of requests, which the caller closes. */
  default InferenceStream openStream() {
    return new InferenceStream() {
      @Override
      public PendingInference infer(InferenceRequest request) {
        return InferenceServer.this.infer(request);
      }

      @Override
      public void close() {
        // It has no bursts.
      }
    };
  }

  /** Returns the bursts that streams have open. */
  default List<OpenBurst> bursts() {
    return List.of();
  }

  /**
   * Notes a request for an inference that a protocol refused while it read it, so that listeners
   * hear of it.
   *
   * @param model as far as it is known; else empty
   */
  void refused(String model, long arrivalNanos, ServingException failure);

  /** Returns the versions of all models, sorted by name and version. */
  List<IndexEntry> index();

  /**
   * Reads the files of a model, now and not when they are seen to have changed, and waits until
   * what is new has taken over or failed. A model that was unloaded is wanted again.
   *
   * @throws ServingException with NOT_FOUND if there are no files, INVALID_ARGUMENT if they cannot
   *     be served
   */
  void load(String model) throws ServingException;

  /**
   * Takes a model out of service: it ends what runs, and its files are left alone until it is
   * loaded again.
   *
   * @throws ServingException with NOT_FOUND
   */
  void unload(String model) throws ServingException;

  /**
   * Returns the statistics of each version that is or was ready.
   *
   * @param model empty for all
   * @throws ServingException with NOT_FOUND
   */
  List<ModelStatistics> statistics(Optional<String> model, Optional<String> version)
      throws ServingException;

  /** Returns the regions of shared memory that clients registered. */
  SharedRegions sharedRegions();

  /** Regions of the system's shared memory, by the names that clients gave them. Thread-safe. */
  @ProviderType
  interface SharedRegions {
    /**
     * Makes a region known.
     *
     * @param key the name of the POSIX shared memory object, with or without its slash
     * @throws ServingException with INVALID_ARGUMENT if there is no such object, it is too short,
     *     or the name is taken
     */
    void register(String name, String key, long offset, long byteSize) throws ServingException;

    /** Forgets a region, or all if the name is empty; of an unknown name nothing happens. */
    void unregister(String name);

    /**
     * Returns the region of this name, or all if it is empty.
     *
     * @throws ServingException with NOT_FOUND
     */
    List<Region> status(String name) throws ServingException;

    /**
     * Returns the bytes of a part of a region, which stay mapped as long as the segment is
     * reachable.
     *
     * @throws ServingException with INVALID_ARGUMENT if it is not within the region
     */
    MemorySegment segment(String name, long offset, long byteSize) throws ServingException;
  }

  /** A region of shared memory. */
  record Region(String name, String key, long offset, long byteSize) {}
}
