// SPDX-License-Identifier: Apache-2.0
/** The devices that are here, and the only way to call them. */
package io.thalamus.runtime.registry;
