// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import org.osgi.annotation.versioning.ProviderType;

/**
 * Both ends of bursts. Thread-safe. A service of scope BUNDLE: when a bundle lets it go, all that
 * it opened or serves ends, with its threads, queues and mappings.
 */
@ProviderType
public interface BurstService {
  /**
   * Serves a model that keeps nothing between executions, by its synchronous execution.
   *
   * @param config of the client
   * @param model stays owned by the caller, who closes the context first
   * @throws DeviceException with GENERAL_FAILURE where the burst cannot be set up, INVALID_ARGUMENT
   *     for channels that are none
   */
  BurstContext serve(BurstConfig config, PreparedModel model) throws DeviceException;

  /**
   * Serves a driver that keeps memories between executions.
   *
   * @param executor stays owned by the caller, who closes the context first
   * @throws DeviceException as above
   */
  BurstContext serve(BurstConfig config, BurstExecutor executor) throws DeviceException;

  /**
   * Opens the side of a client. The model serves the burst itself if it can; otherwise this service
   * does, by the model's synchronous execution.
   *
   * @param model stays owned by the caller, who closes the client first
   * @throws DeviceException with GENERAL_FAILURE where the burst cannot be set up
   */
  BurstClient open(PreparedModel model, BurstSettings settings) throws DeviceException;
}
