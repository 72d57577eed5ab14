// SPDX-License-Identifier: Apache-2.0
/**
 * Faults for the device services of a framework. The service of a device is hidden by service
 * hooks, and a {@link io.thalamus.chaos.FaultyDevice} in front of it is registered in its place.
 */
package io.thalamus.chaos.service;
