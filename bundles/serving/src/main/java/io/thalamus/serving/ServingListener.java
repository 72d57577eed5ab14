// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import io.thalamus.api.ExecutionReport;
import java.util.Optional;
import org.osgi.annotation.versioning.ConsumerType;

/**
 * Hears what a server does; a service that a bundle registers. Its methods are called in the
 * threads that serve, from many at once: they must be quick, and throw nothing.
 */
@ConsumerType
public interface ServingListener {
  /** A request for a version that exists has arrived, and is counted as pending. */
  default void arrived(String model, String version) {}

  /** A request was answered or has failed; one for no known model has not arrived before. */
  default void ended(EndedRequest request) {}

  /** A version has another state or another reason. */
  default void changed(IndexEntry entry) {}

  /**
   * The end of a request.
   *
   * @param version empty if there is none
   * @param failure empty after an answer
   * @param report what ran where; empty if nothing was started
   * @param attempts how often the execution was started
   */
  record EndedRequest(
      InferenceRequest request,
      String version,
      Optional<Failure> failure,
      String message,
      Optional<ExecutionReport> report,
      int attempts,
      RequestTimes times) {}
}
