// SPDX-License-Identifier: Apache-2.0
/**
 * The command {@code nn:serve}: configures the server and its protocols, and ends them in order.
 */
package io.thalamus.serving.command;
